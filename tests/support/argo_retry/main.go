// Prints for each file with a Workflow, as JSON, the nodes that Argo's own retry deletes. Its answers are
// in tests/backends/argo/retries.json. To ask again: put this into a folder beside the go.mod of tests/oracle/argo and
// run `go run -mod=mod ./argo_retry FILE...` there.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	wfv1 "github.com/argoproj/argo-workflows/v4/pkg/apis/workflow/v1alpha1"
	"github.com/argoproj/argo-workflows/v4/util/logging"
	"github.com/argoproj/argo-workflows/v4/workflow/util"
)

func main() {
	ctx := logging.WithLogger(context.Background(), logging.NewSlogLogger(logging.Error, logging.JSON))
	for _, file := range os.Args[1:] {
		data, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		var wf wfv1.Workflow
		if err := json.Unmarshal(data, &wf); err != nil {
			panic(err)
		}
		found, _, err := util.FormulateRetryWorkflow(ctx, &wf, false, "", nil)
		if err != nil {
			panic(err)
		}
		gone := []string{}
		for id := range wf.Status.Nodes {
			if _, ok := found.Status.Nodes[id]; !ok {
				gone = append(gone, id)
			}
		}
		out, err := json.Marshal(gone)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\t%s\n", file, out)
	}
}
