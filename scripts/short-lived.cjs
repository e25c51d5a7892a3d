// Loaded first by each process of the tests. Most of them live for a second or two, so optimizing code rarely pays off: with
// this flag, V8 waits six times as long before it does. All tests together take a tenth less time.
require("node:v8").setFlagsFromString("--interrupt-budget=400000");
// The test runner traces each promise from its creation, to find out which test caused an uncaught error. That makes
// awaiting a promise six times as slow. Without it, such an error still fails the file, and is printed with its stack.
// Worker threads inherit the command line, but run no tests.
if (require("node:worker_threads").isMainThread && process.argv[1]?.endsWith(".test.js")) {
  const hooks = require("node:async_hooks");
  const { createHook } = hooks;
  hooks.createHook = (callbacks) =>
    createHook({
      init: (id, type, ...rest) => {
        if (type === "Test") callbacks.init(id, type, ...rest);
      },
    });
  require("node:test");
  hooks.createHook = createHook;
}
