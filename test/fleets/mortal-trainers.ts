// Two servers of the Tinker API that share their storage. From time to time, one of them restarts, hangs or is down for
// a while.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { dataFolderAt } from "../../src/store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../src/base/domain/model.ts";
import type { Random } from "../../src/base/domain/random.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { readModelWeights } from "../../src/inference/architectures/weights.ts";
import { EmbeddedTrainers } from "../../src/train/trainer/embedded/embedded-trainer.ts";
import { trainingSettings } from "../../src/train/trainer/settings.ts";
import { StubStorage } from "../../src/train/trainer/tinker/testing/stub-operations.ts";
import { type Fault, StubServer } from "../../src/train/trainer/tinker/testing/stub-server.ts";

export interface MortalTrainersOptions {
  /** Folder of the model that the trainers train. */
  readonly modelFolder: string;
  /** Folder for the trainers' own files. */
  readonly folder: string;
  /** Approximate number of requests between two failures of a trainer. */
  readonly soundCount: number;
  readonly random: Random;
}

export interface MortalTrainers {
  /** Addresses of the trainers, in the form of Hone's setting for them. */
  readonly addresses: readonly string[];
  readonly illnessCount: () => number;
  readonly requestCount: () => number;
  stop(): Promise<void>;
}

const base = "there";
const trainerCount = 2;

/**
 * Number of requests that fail while a trainer is down. The waits between retries grow, so the trainer is down for
 * about this number of seconds.
 */
const awayCount = 4;
const hangMs = 1500;

export async function startMortalTrainers(options: MortalTrainersOptions): Promise<MortalTrainers> {
  const { modelFolder, folder, random } = options;
  const config = readModelConfig(modelFolder);
  const { loraRank: rank, sequenceLengthMax, microbatchTokens } = trainingSettings.with();
  mkdirSync(folder, { recursive: true });
  const trainers = new EmbeddedTrainers({
    config,
    readWeights: () => readModelWeights(modelFolder, config, { cacheFolder: join(folder, "cache") }),
    lora: { rank, alpha: 2 * rank, targets: projectionNames },
    baseModelName: base,
    artifacts: dataFolderAt(folder).artifacts,
    sequenceLengthMax: Math.min(sequenceLengthMax, config.contextLength),
    microbatchTokens,
    sharesPrefixes: true,
    threads: 1,
  });
  const storage = new StubStorage();
  let illnessCount = 0;
  const servers = Array.from({ length: trainerCount }, () => {
    const server = new StubServer({ kind: "skyrl-jax", trainers, base, rank, folder, storage });
    server.fault = illnesses({ ...options, random }, () => (illnessCount += 1));
    return server;
  });
  const urls = await Promise.all(servers.map((server) => server.start()));
  return {
    addresses: urls.map((url) => `tinker+${url}?kind=skyrl-jax&base=${base}`),
    illnessCount: () => illnessCount,
    requestCount: () => servers.reduce((sum, { requests }) => sum + requests.length, 0),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      await trainers.close();
    },
  };
}

/**
 * Returns a function that makes the trainer fail. It uses each of these faults in turn: the process ends before or
 * after a request, hangs until it is killed, or is down for a while.
 */
function illnesses(
  { soundCount, random }: MortalTrainersOptions,
  onIllness: () => void,
): StubServer["fault"] {
  const faults: readonly Fault[] = [
    { kind: "restart", when: "before" },
    { kind: "hang", forMs: hangMs },
    { kind: "cut", when: "before" },
    { kind: "restart", when: "after" },
  ];
  let next = random.index(2 * soundCount);
  let kind = random.index(faults.length);
  return (_request, index) => {
    if (index < next) return null;
    const fault = faults[kind % faults.length];
    const isAway = fault.kind === "cut";
    if (index === next) onIllness();
    if (!isAway || index >= next + awayCount - 1) {
      next = index + 1 + random.index(2 * soundCount);
      kind += 1;
    }
    return fault;
  };
}
