// Command lint judges manifests as `argo lint --offline` does, and writes one JSON object a file.
//
// All files of one call form one set: a templateRef is looked up in the whole set and nowhere else.
// With -each every file is judged alone, in a set with the files that -with names.
// With -objects it judges nothing, but writes the objects of the files as Argo reads them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	argolint "github.com/argoproj/argo-workflows/v4/cmd/argo/lint"
	"github.com/argoproj/argo-workflows/v4/pkg/apiclient"
	"github.com/argoproj/argo-workflows/v4/pkg/apis/workflow"
	"github.com/argoproj/argo-workflows/v4/util/logging"
	"github.com/argoproj/argo-workflows/v4/workflow/common"
)

var kinds = []string{
	workflow.WorkflowPlural,
	workflow.WorkflowTemplatePlural,
	workflow.CronWorkflowPlural,
	workflow.ClusterWorkflowTemplatePlural,
}

type verdict struct {
	File   string   `json:"file"`
	OK     bool     `json:"ok"`
	Errors []string `json:"errors"`
}

func judge(ctx context.Context, client apiclient.Client, file string) (verdict, error) {
	options := argolint.LintOptions{Files: []string{file}, Strict: true, DefaultNamespace: ""}
	clients := &options.ServiceClients
	clients.WorkflowsClient = client.NewWorkflowServiceClient(ctx)
	var err error
	if clients.WorkflowTemplatesClient, err = client.NewWorkflowTemplateServiceClient(); err != nil {
		return verdict{}, err
	}
	if clients.CronWorkflowsClient, err = client.NewCronWorkflowServiceClient(); err != nil {
		return verdict{}, err
	}
	if clients.ClusterWorkflowTemplateClient, err = client.NewClusterWorkflowTemplateServiceClient(); err != nil {
		return verdict{}, err
	}
	results, err := argolint.Lint(ctx, &options)
	if err != nil {
		return verdict{}, err
	}
	found := verdict{File: file, OK: results.Success, Errors: []string{}}
	for _, result := range results.Results {
		for _, problem := range result.Errs {
			found.Errors = append(found.Errors, problem.Error())
		}
	}
	if !found.OK && len(found.Errors) == 0 {
		// Argo only logs that it cannot read a document.
		_, err := documents(file)
		if err == nil {
			err = fmt.Errorf("nothing to lint: the kinds are %v", kinds)
		}
		found.Errors = append(found.Errors, err.Error())
	}
	return found, nil
}

// quiet logs to standard error, so that the log does not mix with what is written.
func quiet() context.Context {
	logger := logging.NewSlogLoggerCustom(logging.Warn, logging.Text, os.Stderr)
	return logging.WithLogger(context.Background(), logger)
}

// runEach judges every file in a set of its own.
func runEach(files, others []string) error {
	for _, file := range files {
		if err := run([]string{file}, others); err != nil {
			return err
		}
	}
	return nil
}

// run judges files that form one set with others.
func run(files, others []string) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	set := append(append([]string{}, others...), files...)
	ctx, client, err := apiclient.NewClientFromOptsWithContext(
		quiet(), apiclient.Opts{Offline: true, OfflineFiles: set})
	for _, file := range files {
		found := verdict{File: file}
		if err != nil { // one file of the set cannot be read: `argo lint` then refuses them all
			found.Errors = []string{err.Error()}
		} else if found, err = judge(ctx, client, file); err != nil {
			return err
		}
		if writeErr := encoder.Encode(found); writeErr != nil {
			return writeErr
		}
	}
	return nil
}

// The line at which Argo cuts a file into documents.
var separator = regexp.MustCompile(`\n---`)

type document struct{ text, json []byte }

// documents reads the documents of a file.
func documents(file string) ([]document, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found []document
	for _, text := range separator.Split(string(content), -1) {
		if strings.TrimSpace(text) == "" {
			continue
		}
		object, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = append(found, document{[]byte(text), object})
	}
	return found, nil
}

// writeObjects writes each document of the files as one line of JSON. It refuses what
// `argo submit` would refuse to read.
func writeObjects(files []string) error {
	ctx := quiet()
	for _, file := range files {
		found, err := documents(file)
		if err != nil {
			return err
		}
		for _, each := range found {
			if isArgo(each) {
				for _, parsed := range common.ParseObjects(ctx, each.text, true) {
					if parsed.Err != nil {
						return fmt.Errorf("%s: %w", file, parsed.Err)
					}
				}
			}
			fmt.Println(string(each.json))
		}
	}
	return nil
}

// isArgo tells Argo's own kinds from those of Kubernetes, such as config maps.
func isArgo(object document) bool {
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	return json.Unmarshal(object.json, &head) == nil && strings.HasPrefix(head.APIVersion, "argoproj.io/")
}

func main() {
	objects := flag.Bool("objects", false, "write the objects of the files as JSON")
	each := flag.Bool("each", false, "judge every file alone")
	var others []string
	flag.Func("with", "a file that is in the set of every file", func(file string) error {
		others = append(others, file)
		return nil
	})
	flag.Parse()
	var err error
	switch {
	case *objects:
		err = writeObjects(flag.Args())
	case *each:
		err = runEach(flag.Args(), others)
	default:
		err = run(flag.Args(), others)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
