package mcpbridge

import (
	"context"

	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/relay"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// The names of package config.
type (
	// ServerConfig is [config.ServerConfig].
	ServerConfig = config.ServerConfig
	// ServerEntry is [config.ServerEntry].
	ServerEntry = config.ServerEntry
	// ServerTool is [config.ServerTool].
	ServerTool = config.ServerTool
	// ToolChange is [config.ToolChange].
	ToolChange = config.ToolChange
	// Transport is [config.Transport].
	Transport = config.Transport
	// Trust is [config.Trust].
	Trust = config.Trust
	// Notice is [config.Notice].
	Notice = config.Notice
	// ImportedServer is [config.ImportedServer].
	ImportedServer = config.ImportedServer
	// LineError is [config.LineError].
	LineError = config.LineError
	// BadServers is [config.BadServers].
	BadServers = config.BadServers
)

// The constants of package config.
const (
	Stdio            = config.Stdio
	HTTP             = config.HTTP
	SSE              = config.SSE
	TrustNone        = config.TrustNone
	TrustAnnotations = config.TrustAnnotations
)

// ValidServerName is [config.ValidServerName].
func ValidServerName(name string) bool { return config.ValidServerName(name) }

// ReadServers is [config.ReadServers].
func ReadServers(text []byte) ([]ImportedServer, error) { return config.ReadServers(text) }

// The names of package client.
type (
	// Options is [client.Options].
	Options = client.Options
	// Servers is [client.Servers].
	Servers = client.Servers
	// ServerState is [client.ServerState].
	ServerState = client.ServerState
	// Status is [client.Status].
	Status = client.Status
	// LoginOptions is [client.LoginOptions].
	LoginOptions = client.LoginOptions
	// LoginStatus is [client.LoginStatus].
	LoginStatus = client.LoginStatus
)

// The constants of package client.
const (
	Configured = client.Configured
	Listed     = client.Listed
	Started    = client.Started
	Used       = client.Used
)

// ErrNoLogin is [client.ErrNoLogin].
var ErrNoLogin = client.ErrNoLogin

// Open is [client.Open].
func Open(options Options, servers ...ServerConfig) (*Servers, error) {
	return client.Open(options, servers...)
}

// Login is [client.Login].
func Login(ctx context.Context, s ServerConfig, o LoginOptions) error { return client.Login(ctx, s, o) }

// Logout is [client.Logout].
func Logout(dir, name string) (bool, error) { return client.Logout(dir, name) }

// LoginOf is [client.LoginOf].
func LoginOf(s ServerConfig, o LoginOptions) (LoginStatus, error) { return client.LoginOf(s, o) }

// LoginSecrets is [client.LoginSecrets].
func LoginSecrets(dir string, s ServerConfig, lookup func(string) (string, bool)) []string {
	return client.LoginSecrets(dir, s, lookup)
}

// The names of packages serve and relay.
type (
	// Service is [serve.Service].
	Service = serve.Service
	// ServiceOptions is [serve.ServiceOptions].
	ServiceOptions = serve.ServiceOptions
	// HTTPAccess is [serve.HTTPAccess].
	HTTPAccess = serve.HTTPAccess
	// Bridge is [serve.Bridge].
	Bridge = serve.Bridge
	// BridgeAddress is [serve.BridgeAddress].
	BridgeAddress = serve.BridgeAddress
	// Relay is [relay.Relay].
	Relay = relay.Relay
)

// The constants of package serve.
const (
	BridgeName = serve.BridgeName
	Disabled   = serve.Disabled
)

// NewService is [serve.NewService].
func NewService(options ServiceOptions) (*Service, error) { return serve.NewService(options) }
