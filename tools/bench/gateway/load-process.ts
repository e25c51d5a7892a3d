// Process that generates the load of tools/bench/gateway. Each message is a load; the process runs it and replies with
// a report.
import { runLoad, type Load } from "./load.ts";

process.on("message", (load: Load) => void runLoad(load).then((report) => process.send?.(report)));
process.on("disconnect", () => process.exit());
