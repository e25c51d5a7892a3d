// Reads and writes the file with an embedded trainer's state: AdamW's two moments of each adapter matrix, and the step
// count. The file also contains the adapter, unless an equal adapter is published in the same folder.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { invalid, notFound, type ServiceError } from "../../../base/domain/service-error.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { adapterFiles } from "../../../inference/architectures/hashes/adapter-hash.ts";
import type { LoraAdapter } from "../../../inference/architectures/lora.ts";
import { loraParameters } from "../../../inference/architectures/parameters.ts";
import { readLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readFloats, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import { type NamedTensor, writeSafetensors } from "../../../lib/model-files/write-safetensors.ts";
import { type AdamWState, createAdamWState } from "../adamw.ts";
import { stateFileName } from "./profile.ts";

/** State from which a trainer can continue: the adapter and its optimizer. */
export interface KeptState {
  readonly adapter: LoraAdapter;
  readonly optimizer: AdamWState;
}

/** The artifact store that contains the states, and the configuration of the model to which they belong. */
export interface StatePlace {
  readonly artifacts: Pick<ArtifactStore, "path" | "putFile">;
  readonly config: ModelConfig;
}

type Arrays = ReadonlyMap<string, Float32Array>;

/**
 * Writes a state atomically to the folder `name`.
 *
 * @returns the artifact key of the written file
 */
export async function writeState(
  { artifacts, config }: StatePlace,
  name: string,
  { adapter, optimizer }: KeptState,
): Promise<string> {
  const folder = await artifacts.path(name, null);
  const isPublished =
    existsSync(join(folder, adapterFiles.config)) && isSame(readLoraAdapter(folder, config), adapter);
  const tensors = [
    ...(isPublished ? [] : tensorsOf(adapter.matrices, "")),
    ...tensorsOf(optimizer.firstMoments, ".first_moment"),
    ...tensorsOf(optimizer.secondMoments, ".second_moment"),
  ];
  const { rank, alpha, scale, targets } = adapter;
  const metadata = {
    format: "pt",
    step_count: String(optimizer.stepCount),
    ...(isPublished ? {} : { adapter: JSON.stringify({ rank, alpha, scale, targets }) }),
  };
  const key = `${name}/${stateFileName}`;
  await artifacts.putFile(key, async (file) => writeSafetensors(file, tensors, { type: "F32", metadata }));
  return key;
}

/**
 * Reads a state that `writeState` wrote.
 *
 * @throws ServiceError `not_found` if the file does not exist, `invalid` if it does not fit its adapter or the model
 */
export async function readState({ artifacts, config }: StatePlace, state: string): Promise<KeptState> {
  const file = await artifacts.path(state, null);
  if (!existsSync(file)) throw notFound("trainer state", state);
  const { tensors, metadata } = readSafetensorsHeader(file);
  const stepCount = Number(metadata["step_count"]);
  if (!Number.isSafeInteger(stepCount) || stepCount < 0) throw unfit(state, "step_count");
  const fill = (arrays: Arrays, suffix: string): void => {
    for (const [name, data] of arrays)
      data.set(readInto(tensors.get(`${name}${suffix}`), data, name + suffix));
  };
  const readInto = (stored: StoredTensor | undefined, data: Float32Array, what: string): Float32Array => {
    if (stored?.byteLength !== data.byteLength) throw unfit(state, what);
    return readFloats(stored);
  };
  const shape = metadata["adapter"];
  const adapter =
    shape === undefined
      ? readLoraAdapter(await artifacts.path(dirname(state), null), config)
      : emptyAdapter(config, shape);
  if (shape !== undefined) fill(adapter.matrices, "");
  const optimizer = createAdamWState(adapter.matrices);
  optimizer.stepCount = stepCount;
  fill(optimizer.firstMoments, ".first_moment");
  fill(optimizer.secondMoments, ".second_moment");
  return { adapter, optimizer };
}

/** Returns an adapter whose matrices are zeros, in the shape that `writeState` recorded. */
function emptyAdapter(config: ModelConfig, text: string): LoraAdapter {
  const shape = JSON.parse(text) as Omit<LoraAdapter, "matrices">;
  const zeros = loraParameters(config, shape).map(
    (parameter) =>
      [parameter.name, new Float32Array(parameter.shape.reduce((size, each) => size * each, 1))] as const,
  );
  return { ...shape, matrices: new Map(zeros) };
}

function tensorsOf(arrays: Arrays, suffix: string): readonly NamedTensor[] {
  return [...arrays].map(([name, data]) => ({ name: `${name}${suffix}`, shape: [data.length], data }));
}

/** True if both adapters are equal to the last bit. Training can continue exactly only from the same bits. */
function isSame(one: LoraAdapter, other: LoraAdapter): boolean {
  const isAlike =
    one.rank === other.rank && one.scale === other.scale && one.matrices.size === other.matrices.size;
  return (
    isAlike &&
    [...one.matrices].every(([name, values]) => bytesOf(values).equals(bytesOf(other.matrices.get(name))))
  );
}

function bytesOf(values: Float32Array = new Float32Array()): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

function unfit(state: string, what: string): ServiceError {
  return invalid(`The trainer state ${state} does not fit its adapter (${what}).`);
}
