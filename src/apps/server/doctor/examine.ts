// Implements `hone doctor`: examines the machine, settings, data folder, address and models, and gives a remedy for
// each fault. It starts no server and changes nothing.
import { totalmem } from "node:os";
import { everyKernel, kernelsText } from "../../../base/domain/kernels/integer-kernels.ts";
import { httpSettings } from "../../../api/http/settings.ts";
import { openFilesMax } from "../open-files.ts";
import { readConfig, type FlagValues, type HoneConfig } from "../config.ts";
import { thisMachine } from "../settings.ts";
import { machineKernels } from "../../../inference/engine/device/machine-kernels.ts";
import { tryDevice } from "../../../inference/engine/device/choose-device.ts";
import { builtInModel, nodeVersions } from "../package.ts";
import { addressFindings, type FindServer, type SeenServer } from "./address.ts";
import { dataFindings } from "./data-folder.ts";
import { fault, ok, reasonOf, warning, type Finding } from "./finding.ts";
import { memoryFinding, nodeFinding, openFilesFinding, processorFinding, thisProcessor } from "./machine.ts";
import { knownModelsFinding, modelFindings } from "./models.ts";

export type { FindServer, Finding, SeenServer };

/**
 * Yields each finding as soon as it is known.
 *
 * @param flags as for `hone serve`
 */
export async function* examine(flags: FlagValues, find: FindServer): AsyncGenerator<Finding> {
  const { memoryBytes } = thisMachine();
  yield nodeFinding(process.versions.node, nodeVersions());
  yield processorFinding(thisProcessor());
  yield memoryFinding(memoryBytes, totalmem());
  const runtime = await runtimeFinding();
  yield runtime;
  const kernels = runtime.state === "ok" ? await machineKernels(null) : null;
  if (kernels !== null) yield ok("kernels", kernelsText(kernels));
  let config: HoneConfig;
  try {
    config = readConfig(flags);
  } catch (error) {
    yield fault("settings", reasonOf(error), "`hone serve --help-all` lists every setting with its range.");
    return;
  }
  yield ok("settings", "`hone serve --print-config` shows the effective ones");
  yield openFilesFinding(httpSettings.with(config.http).connections, openFilesMax());
  yield* await dataFindings(config);
  yield* await addressFindings(config.server, find);
  const machine = { memoryBytes, kernels: kernels ?? everyKernel };
  yield* modelFindings(config, machine);
  yield knownModelsFinding(machine);
  if (config.server.device !== "cpu") yield await deviceFinding(config.server.device);
}

async function runtimeFinding(): Promise<Finding> {
  const reason = await tryDevice("cpu", builtInModel().folder);
  if (reason === null) return ok("runtime", "ONNX Runtime loads and computes");
  return fault(
    "runtime",
    `ONNX Runtime cannot be used: ${reason}`,
    "Install the packages again on this machine (npm ci); on Linux they need glibc, so Alpine does not work.",
  );
}

async function deviceFinding(device: HoneConfig["server"]["device"]): Promise<Finding> {
  const reason = await tryDevice(device, builtInModel().folder);
  return reason === null
    ? ok("device", `${device} computes the same as the processor`)
    : warning(
        "device",
        `${device} cannot be used: ${reason}`,
        "The processor computes instead; drop --device to say so.",
      );
}
