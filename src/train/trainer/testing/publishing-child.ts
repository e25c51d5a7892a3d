// Test process that publishes a version to an artifact folder. An argument can make it wait until its parent has ended
// before it finishes saving. Prints the outcome to standard output.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FolderArtifacts } from "../../../store/artifacts/folder-artifacts.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { refuseOrphan } from "../../../base/processes/serve-parent.ts";
import { publishVersion } from "../folders/publish.ts";

const [root = "", parent] = process.argv.slice(2);
const trainer = {
  exportAdapter: async (folder: string) => {
    writeFileSync(join(folder, "adapter_config.json"), "{}");
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
const artifacts = new FolderArtifacts({ root, server: () => "server", mayPut: async () => refuseOrphan() });
await publishVersion(trainer, { artifacts, adapterFolder: "adapters/m/1" }, { signal }).then(
  () => process.stdout.write("published"),
  (error: unknown) => process.stdout.write(error instanceof ServiceError ? error.code : String(error)),
);
if (process.connected) process.disconnect();
