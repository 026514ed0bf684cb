package provider

import (
	"context"
	"fmt"
	"net/http"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
)

// Check asks the vendor for its list of models, which costs nothing. It fails if the
// vendor cannot be reached, does not accept the key or reports a failure, or if the
// response is a page, for instance of a proxy's login ([NoAnswerError]). Any other
// response is a warning: a server without a list of models may work, and so may a
// server that limits the rate of such requests.
func (m *Model) Check(ctx context.Context) ([]llm.Warning, error) {
	x, err := m.newExchange(ctx, llm.Limits{}, false)
	if err != nil {
		return nil, err
	}
	defer x.watch.Stop()
	list := m.format().Models.Path
	if list == "" {
		return []llm.Warning{{Code: llm.Compatibility, Feature: "check", Detail: fmt.Sprintf("%s has no list of models that could be asked for", m.vendor.Name)}}, nil
	}
	resp, err := x.ask(http.MethodGet, m.base.JoinPath(list).String(), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden,
		resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented:
		return nil, credential.RedactError(x.refusal(), x.key)
	case resp.StatusCode/100 != 2:
		return []llm.Warning{{Code: llm.Compatibility, Feature: "check", Detail: fmt.Sprintf("%s answers %s to a question for its models; that proves nothing", m.vendor.Name, resp.Status)}}, nil
	}
	if e := x.checkList(); e != nil {
		return nil, e
	}
	return nil, nil
}
