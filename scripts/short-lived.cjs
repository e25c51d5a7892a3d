// Loaded before all else by every process of the tests. Most of them live for a second or two, in which optimizing code
// rarely earns what it costs: V8 waits six times as long before it does. All tests take a tenth less time so.
require("node:v8").setFlagsFromString("--interrupt-budget=400000");
// The test runner watches every promise from its beginning to its end, to know by which test an error was left that nobody
// caught. To wait for one takes six times as long so. Without, such an error fails the file, and is printed with its stack.
if (process.argv[1]?.endsWith(".test.js")) {
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
