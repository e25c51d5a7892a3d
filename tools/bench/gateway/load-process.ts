// The process that runs the load of tools/bench/gateway: receives loads as messages, and answers each with its report.
import { runLoad, type Load } from "./load.ts";

process.on("message", (load: Load) => void runLoad(load).then((report) => process.send?.(report)));
process.on("disconnect", () => process.exit());
