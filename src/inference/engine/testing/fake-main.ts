// For tests of the carrier: the process of an engine whose tokens cost nothing.
import { serveEngine } from "../carrier/serve-engine.ts";
import { createFakeEngine } from "./fake-engine.ts";

serveEngine((_load, progress) => ({ engine: createFakeEngine(progress), intervalMs: 5 }));
