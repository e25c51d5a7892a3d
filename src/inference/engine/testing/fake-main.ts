// For tests of `ipc/`: entry point of a process with the fake engine, which produces tokens without computing.
import { serveEngine } from "../ipc/serve-engine.ts";
import { LoopEngine } from "../loop-engine.ts";
import { fakeEngineOptions } from "./fake-engine.ts";

serveEngine((_load, progress) => ({
  engine: new LoopEngine({ ...fakeEngineOptions(), ...progress }),
  intervalMs: 5,
}));
