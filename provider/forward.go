package provider

import "net"

// Host returns the host and the port of the server that the model is asked at.
func (m *Model) Host() string {
	if m.base.Port() != "" {
		return m.base.Host
	}
	port := "443"
	if m.base.Scheme == "http" {
		port = "80"
	}
	return net.JoinHostPort(m.base.Hostname(), port)
}
