// For tests of `ipc/`: the process of an engine whose tokens cost nothing.
import { serveEngine } from "../ipc/serve-engine.ts";
import { LoopEngine } from "../loop-engine.ts";
import { fakeEngineOptions } from "./fake-engine.ts";

serveEngine((_load, progress) => ({
  engine: new LoopEngine({ ...fakeEngineOptions(), ...progress }),
  intervalMs: 5,
}));
