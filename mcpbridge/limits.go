package mcpbridge

// maxFrame bounds one message of a server.
const maxFrame = 16 << 20

// maxStream bounds the events that answer one request.
const maxStream = 4 * maxFrame

// maxClientFrame bounds one message of a client.
const maxClientFrame = 4 << 20

// maxState bounds the state that a client sends back.
const maxState = 256 << 10

// questionKeyPrefix begins the keys of questions of ours; see questionKey.
const questionKeyPrefix = "q-toolpost-"

// maxBatch bounds a batch of a client.
const maxBatch = 64
