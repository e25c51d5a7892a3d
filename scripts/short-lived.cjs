// Loaded before all else by every process that tests start. Most of them live for a second or two, in which optimizing
// code rarely earns what it costs: V8 waits six times as long before it does. All tests take a tenth less time so.
require("node:v8").setFlagsFromString("--interrupt-budget=400000");
