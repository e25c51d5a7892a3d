// For one test: a process that starts a child, reports this on standard output, and then waits until it is killed.
import { systemClock } from "../../domain/clock.ts";
import { startAhead, startChild } from "../child.ts";
import type { SmallProtocol } from "./small-child.ts";

const minuteMs = 60_000;
const module = new URL("./small-child.js", import.meta.url);
if (process.argv[2] === "leave one ahead") startAhead(module);
await startChild<SmallProtocol>(
  {
    module: new URL("?second", module),
    name: "small process",
    load: { start: "ready", stop: "at once" },
    clock: systemClock,
    startDeadlineMs: minuteMs,
    silenceDeadlineMs: minuteMs,
    onEvent: () => undefined,
  },
  { signal: new AbortController().signal },
);
process.stdout.write("ready\n");
if (process.argv[2] === "stay") await systemClock.sleep(60_000);
