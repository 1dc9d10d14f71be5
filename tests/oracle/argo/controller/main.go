// Command controller runs the workflow controller against the API server that KUBECONFIG names.
//
// The controller's own main does the same, but speaks protobuf to the API server, elects a leader
// and opens ports of fixed numbers. This one ends as soon as its standard input does, so that it does
// not outlive the process that has started it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	_ "time/tzdata"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	wfclientset "github.com/argoproj/argo-workflows/v4/pkg/client/clientset/versioned"
	cmdutil "github.com/argoproj/argo-workflows/v4/util/cmd"
	"github.com/argoproj/argo-workflows/v4/util/logging"
	"github.com/argoproj/argo-workflows/v4/workflow/common"
	"github.com/argoproj/argo-workflows/v4/workflow/controller"
)

const workers = 4

func run(namespace, executorImage, logLevel string) error {
	level, err := logging.ParseLevel(logLevel)
	if err != nil {
		return err
	}
	logger := logging.NewSlogLoggerCustom(level, logging.Text, os.Stderr)
	ctx := logging.WithLogger(context.Background(), logger)
	cmdutil.SetGLogLevel(0) // the controller hands the level on to the executor
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.ContentType = "application/json"
	config.QPS, config.Burst = 1000, 1000
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	workflows, err := wfclientset.NewForConfig(config)
	if err != nil {
		return err
	}
	running, err := controller.NewWorkflowController(ctx, config, kube, workflows,
		namespace, namespace, executorImage, "IfNotPresent", "text", common.ConfigMapName, false)
	if err != nil {
		return err
	}
	running.Run(ctx, workers, workers, workers, workers, workers)
	return nil
}

func main() {
	namespace := flag.String("namespace", "default", "the namespace to manage")
	image := flag.String("executor-image", "argoexec", "the image of init and wait containers")
	level := flag.String("loglevel", "info", "debug, info, warn or error")
	flag.Parse()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := run(*namespace, *image, *level); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
