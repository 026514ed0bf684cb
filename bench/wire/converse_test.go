package wire

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/toolpost/toolpost/wire"
)

func BenchmarkConverseToolpost(b *testing.B) { run(b, wire.Converse, ours(wire.Converse)) }

// canned answers every request with the same stream.
type canned []byte

func (c canned) Do(req *http.Request) (*http.Response, error) {
	resp := response(c)
	resp.Request = req
	resp.Header.Set("Content-Type", "application/vnd.amazon.eventstream")
	return resp, nil
}

// BenchmarkConverseSDK decodes events and joins the arguments. The SDK opens a
// stream only by a request, which is signed; the stream is long enough for that
// not to matter.
func BenchmarkConverseSDK(b *testing.B) {
	keys := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
	})
	run(b, wire.Converse, func(body []byte) (int, error) {
		client := bedrockruntime.New(bedrockruntime.Options{Region: "us-east-1", Credentials: keys, HTTPClient: canned(body)})
		out, err := client.ConverseStream(b.Context(), &bedrockruntime.ConverseStreamInput{ModelId: aws.String("m")})
		if err != nil {
			return 0, err
		}
		var args strings.Builder
		for ev := range out.GetStream().Events() {
			if d, ok := ev.(*types.ConverseStreamOutputMemberContentBlockDelta); ok {
				if use, ok := d.Value.Delta.(*types.ContentBlockDeltaMemberToolUse); ok {
					args.WriteString(aws.ToString(use.Value.Input))
				}
			}
		}
		return args.Len(), out.GetStream().Close()
	})
}
