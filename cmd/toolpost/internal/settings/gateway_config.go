package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway"
)

// GatewayConfig is the configuration of serve.
type GatewayConfig struct {
	Addr      string        `yaml:"addr" help:"the address for clients" default:"127.0.0.1:8230" restart:"yes"`
	KeepAlive time.Duration `yaml:"keep_alive" help:"the silence in a stream after which the client gets a sign of life; less than 0 means never" default:"15s" min:"1ms" negative:"never"`
	MaxBody   int64         `yaml:"max_body" help:"bytes of the body of a request" default:"67108864" min:"1024"`
	Routes    []RouteConfig `yaml:"routes" help:"which model answers for which name; without routes, the offline model answers for every name"`
	Ops       opsConfig     `yaml:",inline"`
	Keys      KeysConfig    `yaml:",inline"`

	ServedTools []*gateway.ServedTools `yaml:"-"` // the tools of each route, once they are open
}

// RouteConfig is a gateway.ModelRoute in the configuration.
type RouteConfig struct {
	Model    string           `yaml:"model" help:"the name that clients ask for; a name that ends in * matches all names with that prefix, and the longest match counts"`
	From     []string         `yaml:"from" help:"the formats of the clients that the route is for: chat, responses, messages, gemini, ollama, converse" default:"all"`
	Hidden   bool             `yaml:"hidden" help:"leave the name out of lists of models; clients can still ask for it" default:"false"`
	To       []UpstreamConfig `yaml:"to" help:"the upstreams: the least busy one for its weight answers, and the next one if it fails before the answer has begun"`
	Fallback []string         `yaml:"fallback" help:"names that are asked for when no upstream of the route can answer, also because the conversation is too long or a filter removed the answer"`
	Thinks   string           `yaml:"thinking_route" help:"the name that answers requests that ask for thinking" default:"this route"`
	Long     string           `yaml:"long_route" help:"the name that answers requests of more than long_over tokens" default:"this route"`
	LongOver int              `yaml:"long_over" help:"the estimated tokens above which a request is long" default:"60000" min:"1"`
	Images   string           `yaml:"image_route" help:"the name that answers requests with an image; see [tasks](agents.md#other-models-for-other-tasks)" default:"this route"`
	Check    string           `yaml:"check" help:"the handling of calls that do not fit the schemas of their tools: reported in a header or a comment; off does not check; reask asks the model again"`

	Timing      TimingConfig  `yaml:",inline"`
	Strategy    string        `yaml:"strategy" help:"the order of upstreams with the same priority" values:"weighted least_busy fastest cheapest" default:"weighted"`
	HedgeAfter  time.Duration `yaml:"hedge_after" help:"how long an answer may take to begin before a second upstream is asked at the same time; both are paid for, and such a route does not relay" default:"never"`
	MaxRequests int           `yaml:"max_requests" help:"concurrent requests of the route; further ones are refused with status 429" unset:"no limit"`
	Thinking    string        `yaml:"thinking" help:"how much the model thinks, whatever the client requests: off, low, medium, high or a word of the vendor's"`
	ToolChoice  string        `yaml:"tool_choice" help:"whether the model may, must or must not call the client's tools, whatever the client requests: auto, required, none"`
	TextCalls   string        `yaml:"text_calls" help:"which text of an answer becomes a call: off, marked, all"`
	Echoes      bool          `yaml:"echoes" help:"also accept calls whose text is in a tool result or a document of the conversation" default:"false"`
	Dialect     string        `yaml:"dialect" help:"the notation in which the model is taught its tools and its calls are read, instead of the model's own; see [emulation](../emulation.md)"`
	Cache       time.Duration `yaml:"cache" help:"how long an answer is given again to the same request of the same owner" unset:"not at all"`
	CacheTools  bool          `yaml:"cache_tools" help:"also cache requests that offer tools, whose calls may change things" default:"false"`
	CacheMarks  bool          `yaml:"cache_marks" help:"mark instructions and the last turns for the prompt cache of Anthropic, Bedrock and OpenRouter, where the client set no marks" default:"false"`
	Pass        []string      `yaml:"pass" help:"other endpoints that are passed on: embeddings, completions, images, audio, moderations, rerank, files, batches" default:"none"`
	PassTeam    string        `yaml:"pass_team" help:"the team that owns the upstreams' account with the vendor: only its keys may use files and batches, and refer to what the vendor keeps" default:"no team"`
	Bodies      *bool         `yaml:"log_bodies" help:"whether requests and answers are kept next to the log of requests" default:"log_bodies of the gateway"`
	Served      ServedConfig  `yaml:",inline"`
}

// UpstreamConfig is a gateway.Upstream in the configuration.
type UpstreamConfig struct {
	Model  string `yaml:"model" help:"the id of a [model](../providers.md); a * is replaced by what the * of the route matched"`
	Weight *int   `yaml:"weight" help:"its share of the requests, a whole number; 0 takes it out of the selection" default:"1"` // nil means 1
	Tools  string `yaml:"tools" help:"how it is asked for calls: native, constrained, prompted" default:"what the catalogue knows"`
	Style  string `yaml:"style" help:"the notation that is taught where calls are prompted; see [emulation](../emulation.md)"`
	Gate   string `yaml:"gate" help:"who chooses the tools of a model of up to a billion parameters: auto (Toolpost) or off (the model)" default:"gate of the configuration"`

	Health      time.Duration `yaml:"health" help:"the interval of health checks, which cost nothing" unset:"never"`
	DriftEvery  time.Duration `yaml:"drift_every" help:"the interval of [drift checks](../evaluation.md#in-the-gateway), which cost tokens" unset:"never"`
	DriftBelow  float64       `yaml:"drift_below" help:"the agreement with the first result, from 0 to 1, below which the upstream is skipped while another is available" unset:"never skipped"`
	Timing      TimingConfig  `yaml:",inline"`
	Priority    int           `yaml:"priority" help:"upstreams with the lowest number are asked first, the others when those fail" unset:"first"`
	MaxInFlight int           `yaml:"max_in_flight" help:"concurrent requests of the upstream; further ones go to the next upstream, or are refused with status 429" unset:"no limit" min:"1"`
}

// TimingConfig is a gateway.Timing in the configuration. Upstreams without a value have that of the route.
type TimingConfig struct {
	Timeout   time.Duration `yaml:"timeout" help:"how long the whole answer of an upstream may take" default:"6h" min:"1ms"`
	FirstByte time.Duration `yaml:"first_byte" help:"how long an upstream may be silent before its answer begins; keep-alives are not silence" default:"1m or more where another upstream can be asked, otherwise 5m, or 30m for a whole answer" min:"1ms"`
	Idle      time.Duration `yaml:"idle" help:"how long no piece of a begun answer may arrive" default:"2m, or 30m with keep-alives" min:"1ms"`
	Cooldown  time.Duration `yaml:"cooldown" help:"how long an upstream that failed three times in a row is skipped; ten times as long if its key, address or certificate is wrong" default:"30s" min:"1ms"`
	Retries   *int          `yaml:"retries" help:"how often a failed request is sent again to the same upstream" default:"0 where another upstream can be asked, otherwise 2" min:"0" max:"10"`
}

// String lists the model names of the routes: at most maxNames, then the number of further ones.
func (c GatewayConfig) String() string {
	var names []string
	for i, r := range c.Routes {
		if i == maxNames {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(c.Routes)-i)
		}
		names = append(names, r.Model)
	}
	return strings.Join(names, ", ")
}

// maxNames limits the names in one line.
const maxNames = 50

// KeysConfig configures the access to a gateway.
type KeysConfig struct {
	Store      string        `yaml:"keys" help:"the store of keys and their use: sqlite:FILE or postgres://…; with it every request needs a key" restart:"yes"`
	State      string        `yaml:"state" help:"the store of data between requests: sqlite:FILE, postgres://… or memory" default:"the store of keys, or memory without keys" restart:"yes"`
	Reserve    string        `yaml:"reserve" help:"how many output tokens a request without max_tokens reserves of budgets: learned (95 of 100 answers of the key and model are not longer), max (the maximum of the model; a request that may exceed a budget is refused) or a number" default:"learned"`
	Retention  time.Duration `yaml:"log_retention" help:"how long the log of requests is kept" default:"720h" min:"1ms" restart:"yes"`
	Bodies     bool          `yaml:"log_bodies" help:"keep requests and answers next to the log of requests, without known secrets; needs keys, and a route can override it" default:"false"`
	BodySize   int           `yaml:"log_body_size" help:"bytes that are kept of each body; the middle of longer ones is left out" default:"65536" min:"256" max:"1048576"`
	AdminAddr  string        `yaml:"admin_addr" help:"an address for administrators, who need the key in TOOLPOST_ADMIN_KEY" restart:"yes"`
	Console    bool          `yaml:"console" help:"serve the console at /console of admin_addr, or of a loopback addr if that is missing; accounts are in TOOLPOST_CONSOLE_ACCOUNTS, and administrators log in with their key" default:"false" restart:"yes"`
	Webhook    string        `yaml:"webhook" help:"an address that gets a POST when a key or team has used a part of a limit per day, month or in total; TOOLPOST_BUDGET_WEBHOOK overrides it" restart:"yes"`
	WebhookAt  []int         `yaml:"webhook_at" help:"these parts of a limit, in percent; the log reports them too" default:"80 and 100" restart:"yes"`
	AdminHosts []string      `yaml:"admin_hosts" help:"names of this host that administrators may use in addition to loopback, with the port" restart:"yes"`
}

// opsConfig configures the operation of a gateway.
type opsConfig struct {
	OpsAddr       string        `yaml:"ops_addr" help:"a second address for health and metrics; without it, only a loopback addr serves metrics" restart:"yes"`
	OpsHosts      []string      `yaml:"ops_hosts" help:"host names with a dot that monitors may use at ops_addr, with the port; IP addresses and names without a dot are always allowed" restart:"yes"`
	TLS           TLSConfig     `yaml:"tls" help:"the certificate for clients; it is read again when its files change" restart:"presence"`
	Drain         time.Duration `yaml:"drain" help:"how long open answers may take after the gateway was told to stop" default:"30s" min:"1ms" restart:"yes"`
	DrainDelay    time.Duration `yaml:"drain_delay" help:"how long new requests are still served after SIGTERM, while /readyz already reports 503; load balancers need the time to notice" default:"5s" min:"1ms" restart:"yes"`
	LogFormat     string        `yaml:"log_format" help:"the format of the log; with json every printed line is JSON, with durations in nanoseconds" values:"text json" default:"text" restart:"yes"`
	Reload        time.Duration `yaml:"reload" help:"how often the gateway looks for changes of the configuration; SIGHUP makes it look at once" default:"2s" min:"1ms" restart:"yes"`
	MaxRequests   int           `yaml:"max_requests" help:"concurrent requests; further ones are refused with status 503" default:"16384" min:"1"`
	MaxHeader     int           `yaml:"max_header" help:"bytes of the headers of a request" default:"65536" min:"512" restart:"yes"`
	HeaderTimeout time.Duration `yaml:"header_timeout" help:"how long a client may take to send the headers of a request" default:"10s" min:"1ms" restart:"yes"`
	BodyTimeout   time.Duration `yaml:"body_timeout" help:"how long a client may take to send the body of a request" default:"1m" min:"1ms"`
	WriteTimeout  time.Duration `yaml:"write_timeout" help:"how long a client may leave a part of an answer unread" default:"2m" min:"1ms"`
	AnswersFor    time.Duration `yaml:"answers_for" help:"how long answers are kept that clients can continue by their id (previous_response_id)" default:"720h" min:"1ms"`
	IdleTimeout   time.Duration `yaml:"idle_timeout" help:"how long a connection without a request is kept" default:"2m" min:"1ms" restart:"yes"`
}

// TLSConfig names the files of a certificate.
type TLSConfig struct {
	Cert string `yaml:"cert" help:"the file of the certificate and its chain, in PEM"`
	Key  string `yaml:"key" help:"the file of its private key, in PEM"`
}

// ServedConfig configures the tools that the gateway runs for the clients of a route.
type ServedConfig struct {
	Tools []string `yaml:"tools" help:"built-in tools that the gateway runs, such as read_file"`
	MCP   []string `yaml:"mcp" help:"MCP servers of the configuration whose tools the gateway runs"`
	YesTo []string `yaml:"yes_to" help:"the tools among these that may do more than read; a name may end in *"`

	Approval    string        `yaml:"approval" help:"the handling of calls that need a person's consent: refuse, or pending, which lets them wait for 'toolpost runs approve'" default:"refuse" values:"refuse pending"`
	ApprovalFor time.Duration `yaml:"approval_for" help:"how long a call waits for consent" default:"24h" min:"1ms" max:"720h"`
	Rounds      *int          `yaml:"rounds" help:"how often the model is asked again with results for one request" default:"10" min:"1"`
}

// Any reports whether there are tools.
func (c ServedConfig) Any() bool { return len(c.Tools)+len(c.MCP) > 0 }
