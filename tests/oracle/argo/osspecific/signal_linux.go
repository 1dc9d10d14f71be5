// Package osspecific is the part for Linux that the module of v4.0.7 lacks on the proxy: without
// it the executor does not compile there. The build lays it over the package of the same name.
package osspecific

import (
	"errors"
	"os"
	"syscall"

	argoerrors "github.com/argoproj/argo-workflows/v4/util/errors"
)

// Term asks a process to end.
var Term = syscall.SIGTERM

// CanIgnoreSignal reports whether a signal is of no concern to the process that is watched over.
func CanIgnoreSignal(s os.Signal) bool {
	return s == syscall.SIGCHLD || s == syscall.SIGURG
}

// Setpgid gives the process a group of its own.
func Setpgid(attributes *syscall.SysProcAttr) {
	attributes.Setpgid = true
}

// Kill signals the whole group of a process.
func Kill(pid int, s syscall.Signal) error {
	if group, err := syscall.Getpgid(pid); err == nil {
		return syscall.Kill(-group, s)
	}
	return syscall.Kill(pid, s)
}

// Wait returns when the process ends, with its exit code as an error. It reaps every other child
// on the way, and does not wait for those that the process leaves behind.
func Wait(process *os.Process) error {
	pid := process.Pid
	if err := process.Release(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return err
		case ended != pid:
			continue
		case status.Signaled():
			return argoerrors.NewExitErr(128 + int(status.Signal()))
		case status.Exited():
			return argoerrors.NewExitErr(status.ExitStatus())
		}
	}
}
