// Entry point of a training process that serves one live model. All native code of training runs in such a process, so
// that a crash costs one model's unsaved training and not the server.
import { setPriority } from "node:os";
import { failureOf } from "../../../base/processes/serialized-error.ts";
import { serveParent } from "../../../base/processes/serve-parent.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { openArtifacts } from "../../../store/artifacts/open-artifacts.ts";
import type { TrainingLoad } from "../../trainer/child-protocol.ts";
import { loadTrainers } from "../../trainer/embedded/load-trainers.ts";
import { LiveTrainer } from "./live-trainer.ts";
import type { CallKind, SessionCalls, SessionProtocol, SessionRequest } from "./protocol.ts";
import { ScratchArtifacts } from "./scratch-artifacts.ts";

/** Nice value (scheduling priority) of the process, so that the serving process gets the CPU cores first. */
const niceness = 10;

/**
 * Interval in milliseconds between heartbeats, which the process sends when the computation lets the event loop run.
 */
const heartbeatMs = 5000;

serveParent<SessionProtocol>(async (load, emit) => {
  setPriority(niceness);
  const { trainer, sequenceLengthMax } = await loadTrainer(load);
  const answer = async (request: SessionRequest): Promise<void> => {
    const { id, kind, ...given } = request;
    try {
      // Safe cast: the arguments belong to the kind of the same request.
      const call = trainer[kind] as (given: SessionCalls[CallKind]["arguments"]) => Promise<unknown>;
      await emit({ kind: "done", id, result: await call(given) });
    } catch (error) {
      const message = "Training ended with an internal error; the server's log has it.";
      await emit({ kind: "failed", id, failure: failureOf(error, message) });
    }
  };
  setInterval(() => void emit({ kind: "alive" }), heartbeatMs).unref();
  let last: Promise<void> = Promise.resolve();
  return {
    ready: { sequenceLengthMax },
    receive: (request) => void (last = last.then(() => answer(request))),
    stop: async () => undefined,
  };
});

async function loadTrainer(load: TrainingLoad): Promise<{
  readonly trainer: LiveTrainer;
  readonly sequenceLengthMax: number;
}> {
  const whole = readModelConfig(load.baseModel.folder);
  const { sequenceLengthMax } = load.settings;
  // Builds rotary position tables only up to the longest sequence that may be trained.
  const config = { ...whole, contextLength: Math.min(whole.contextLength, sequenceLengthMax) };
  const { server } = load.artifacts;
  const scratch = new ScratchArtifacts(openArtifacts(load.artifacts, { server: () => server }));
  const { trainers, requireAble } = await loadTrainers(load, { config, artifacts: scratch });
  await requireAble();
  return {
    trainer: new LiveTrainer(trainers, scratch, config.vocabularySize),
    sequenceLengthMax: trainers.sequenceLengthMax,
  };
}
