// Examines processor, memory, Node.js version and open-file limit. The values are arguments, so that tests can
// simulate any machine.
import { availableParallelism, cpus } from "node:os";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { featuresOfLinux } from "../../../inference/onnx/processor-kind.ts";
import { connectionsThatFit } from "../open-files.ts";
import { fault, ok, warning, type Finding } from "./finding.ts";

export interface Processor {
  readonly name: string;
  readonly coreCount: number;
  /** Architecture as in `process.arch`. */
  readonly architecture: string;
  /** CPU features as Linux lists them; null if unknown. */
  readonly features: ReadonlySet<string> | null;
}

/** Returns this machine's processor, with the number of cores that this process may use. */
export function thisProcessor(): Processor {
  const features = featuresOfLinux();
  return {
    name: cpus()[0]?.model.trim() || "an unknown processor",
    coreCount: availableParallelism(),
    architecture: process.arch,
    features: features === null ? null : new Set(features),
  };
}

/** Instruction sets that affect the choice of kernels: the common name of each, and Linux's names of its features. */
const instructionSets: Readonly<Record<string, readonly (readonly [string, readonly string[]])[]>> = {
  x64: [
    ["AVX2", ["avx2"]],
    ["AVX-512", ["avx512f"]],
    ["VNNI", ["avx512_vnni", "avx_vnni"]],
    ["AMX", ["amx_int8"]],
  ],
  arm64: [
    ["NEON", ["asimd"]],
    ["dot products", ["asimddp"]],
    ["I8MM", ["i8mm"]],
  ],
};

export function processorFinding({ name, coreCount, architecture, features }: Processor): Finding {
  const cores = coreCount === 1 ? "1 core" : `${coreCount} cores`;
  const known = instructionSets[architecture] ?? [];
  const has = (spellings: readonly string[]): boolean => spellings.some((one) => features?.has(one));
  const sets = known.filter(([, spellings]) => has(spellings)).map(([set]) => set);
  const described = features === null ? "" : `, ${sets.length === 0 ? "no vector units" : sets.join(", ")}`;
  const message = `${name}, ${cores}${described}`;
  if (features !== null && architecture === "x64" && !features.has("avx2"))
    return warning(
      "processor",
      `${message}: the runtime's fast kernels need a processor with AVX2`,
      "Use a machine with AVX2; for a virtual machine, let its host pass the processor through.",
    );
  return ok("processor", message);
}

/**
 * @param bytes memory that this process may use
 * @param machineBytes memory of the machine
 */
export function memoryFinding(bytes: number, machineBytes: number): Finding {
  const isConstrained = bytes < machineBytes;
  return ok(
    "memory",
    `${sizeText(bytes)}${isConstrained ? ", as the container or control group allows" : ""}`,
  );
}

/**
 * @param version version as in `process.versions.node`
 * @param wanted supported versions as in `engines` of package.json: `>=20.19`
 */
export function nodeFinding(version: string, wanted: string): Finding {
  const least = numbersOf(wanted);
  const [major, minor] = numbersOf(version);
  const isEnough = major > least[0] || (major === least[0] && minor >= least[1]);
  if (isEnough) return ok("node", version);
  return fault(
    "node",
    `${version} is older than ${least.join(".")}`,
    `Install Node ${least.join(".")} or newer, from nodejs.org or with nvm.`,
  );
}

function numbersOf(version: string): readonly [number, number] {
  const [major = 0, minor = 0] = (version.match(/\d+/g) ?? []).map(Number);
  return [major, minor];
}

/**
 * @param wanted number of connections that the configuration allows
 * @param openFilesMax open-file limit of the operating system for this process
 */
export function openFilesFinding(wanted: number, openFilesMax: number): Finding {
  const fitting = connectionsThatFit(wanted, openFilesMax);
  const limit = openFilesMax === Infinity ? "no limit" : `${openFilesMax}`;
  if (fitting >= wanted) return ok("open files", limit);
  return warning(
    "open files",
    `${limit} leaves ${fitting} of the ${wanted} connections that a server uses`,
    "Raise the limit (`ulimit -n 65536`; LimitNOFILE of a systemd unit).",
  );
}
