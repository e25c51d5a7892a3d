// For tests: a live process of the contract's tiny model that runs in the test's own process.
import { orderedProjections, projectionNames, type TrainedModel } from "../../../base/domain/model.ts";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { tinyConfig, tinyLora } from "../../trainer/contract/tiny-model.ts";
import { tinyTrainers } from "../../trainer/contract/trainers-under-test.ts";
import { LiveTrainer } from "../process/live-trainer.ts";
import type { CallKind, SessionCalls } from "../process/protocol.ts";
import { ScratchArtifacts } from "../process/scratch-artifacts.ts";
import type { LiveProcess } from "../process/start-process.ts";

/** A live process whose end a test can cause. */
export interface InProcess extends LiveProcess {
  /** Number of calls so far. */
  readonly callCount: number;
}

/** Starts a live process. Its states are in the data folder, in the same places as those of a real process. */
export function startInProcess(
  dataFolder: string,
  { adapter: { rank, alpha, targets } }: Pick<TrainedModel, "adapter">,
): InProcess {
  const scratch = new ScratchArtifacts(dataFolderAt(dataFolder).artifacts);
  const lora = {
    rank: rank ?? tinyLora.rank,
    alpha: alpha ?? tinyLora.alpha,
    targets: orderedProjections(targets ?? projectionNames),
  };
  const trainers = tinyTrainers({ dataFolder, microbatchTokens: 64, artifacts: scratch, lora });
  const trainer = new LiveTrainer(trainers, scratch, tinyConfig.vocabularySize);
  let [isGone, callCount] = [false, 0];
  return {
    weights: "weights",
    get isGone() {
      return isGone;
    },
    get callCount() {
      return callCount;
    },
    call: <Kind extends CallKind>(kind: Kind, given: SessionCalls[Kind]["arguments"]) => {
      callCount += 1;
      // Safe cast: the method belongs to the kind.
      const call = trainer[kind] as (
        given: SessionCalls[Kind]["arguments"],
      ) => Promise<SessionCalls[Kind]["result"]>;
      return call(given);
    },
    stop: async () => {
      isGone = true;
      await trainers.close();
    },
  };
}
