package programtest

import "time"

// LongWait limits how long tests wait for something that should happen at once. Deliberate delays are far longer, and
// no machine is this slow.
const LongWait = 2 * time.Minute
