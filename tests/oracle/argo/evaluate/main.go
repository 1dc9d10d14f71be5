// Evaluates expressions as Argo's controller does, one JSON object a line on standard input:
// {"expression": "...", "variables": {"inputs.parameters.x": "..."}}. Prints one a line:
// {"value": ...} or {"error": "..."}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/expr-lang/expr"

	"github.com/argoproj/argo-workflows/v4/util/expr/env"
)

type request struct {
	Expression string         `json:"expression"`
	Variables  map[string]any `json:"variables"`
}

type answer struct {
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
}

func evaluate(asked request) (given answer) {
	defer func() {
		if reason := recover(); reason != nil {
			given = answer{Error: fmt.Sprint(reason)}
		}
	}()
	variables := env.GetFuncMap(asked.Variables)
	program, err := expr.Compile(asked.Expression, expr.Env(variables))
	if err != nil {
		return answer{Error: err.Error()}
	}
	value, err := expr.Run(program, variables)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: value}
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	written := json.NewEncoder(os.Stdout)
	decoder := json.NewDecoder(lines)
	for decoder.More() {
		var asked request
		if err := decoder.Decode(&asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := written.Encode(evaluate(asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
