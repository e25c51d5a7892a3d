// For one test: a process that publishes a version to the data folder it is given, and while it saves either keeps its
// parent or loses it. Says on standard output how that ended.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../domain/service-error.ts";
import { publishVersion } from "../folders/publish.ts";

const [dataFolder = "", parent] = process.argv.slice(2);
const trainer = {
  exportAdapter: async (folder: string) => {
    writeFileSync(join(folder, "adapter_model.safetensors"), "of an orphan");
    if (parent === "lost") {
      const lost = once(process, "disconnect");
      process.send?.("saving");
      await lost;
    }
  },
  saveState: async () => "",
};
const { signal } = new AbortController();
await publishVersion(trainer, { dataFolder, adapterFolder: "adapters/m/1", jobId: "job" }, { signal }).then(
  () => process.stdout.write("published"),
  (error: unknown) => process.stdout.write(error instanceof ServiceError ? error.code : String(error)),
);
if (process.connected) process.disconnect();
