// Package vendorapi has the HTTP code that servers of vendor formats share, which are the simulator and the gateway:
// finding the endpoint of a request, reading its body, and writing errors, lists of models, token counts and stored
// answers. The formats themselves are in package wire.
package vendorapi
