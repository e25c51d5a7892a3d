// Entry point of a training process, which runs jobs for one base model, one after the other. All native code of
// training runs in such a process, so that a crash costs one attempt at a job and not the server.
import { createReadStream } from "node:fs";
import { setPriority } from "node:os";
import { createInterface } from "node:readline";
import { openArtifacts } from "../../store/artifacts/open-artifacts.ts";
import { systemClock } from "../../base/domain/clock.ts";
import type { JobOutcome, JobReport } from "../../base/domain/job.ts";
import { readModelConfig } from "../../inference/architectures/config/read-config.ts";
import { failureOf } from "../../base/processes/serialized-error.ts";
import { refuseOrphan, serveParent } from "../../base/processes/serve-parent.ts";
import { privateBytes } from "../../base/processes/private-memory.ts";
import { loadChatTemplate } from "../../inference/chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../lib/tokenizer/tokenizer.ts";
import type {
  LoadedTrainers,
  RunRequest,
  TrainingEvent,
  TrainingLoad,
  TrainingProtocol,
} from "./child-protocol.ts";
import { createConversationTokenizer, createTurnRenderer } from "./conversation-tokenizer.ts";
import { runTrainingJob, type TrainingJobDependencies } from "./run-training-job.ts";
import { pinnedSettings } from "./settings.ts";
import { compareVersions } from "./replay/compare-versions.ts";
import { linesFileOf, type TrainingRun } from "./training-run.ts";
import { WhenIdle } from "./serial-calls.ts";

const internalMessage = "Training ended with an internal error; the server's log has it.";

/**
 * Idle time in milliseconds after which the process frees programs that hold much memory. Jobs that were submitted
 * together follow each other faster than that.
 */
const programsKeptMs = 2000;

/**
 * Programs that take less than this share of the training memory limit stay loaded until the process ends, because
 * loading them takes seconds.
 */
const programsKeptShare = 1 / 8;

type LoadedModel = LoadedTrainers & Omit<TrainingJobDependencies, "lines" | "report" | "clock" | "signal">;

serveParent<TrainingProtocol>(async (options, emitMeasured) => {
  const emit = (event: TrainingEvent): Promise<void> =>
    emitMeasured({ ...event, heldBytes: process.memoryUsage.rss() });
  const ownership = new Ownership(() => emit({ kind: "asks-for-job" }));
  const model = await load(options, {
    onHeartbeat: () => void emit({ kind: "alive" }),
    mayPut: () => ownership.require(),
  });
  // A loaded program never returns memory to the system, so large programs are freed while the process is idle. The
  // next job then has to load them again.
  const keptBytes = programsKeptShare * options.settings.memoryBytes;
  const idle = new WhenIdle(systemClock, programsKeptMs, async () => {
    if (privateBytes() > keptBytes) await model.free();
  });
  const answer = (request: RunRequest): Promise<void> =>
    run({ model, emit }, request).then(emit, (error: unknown) =>
      emit({ kind: "failed", failure: failureOf(error, internalMessage) }),
    );
  return {
    ready: null,
    // The parent may send the next job while this process is still finishing the last one.
    receive: (request) => {
      if (request.kind === "job-is-owned") ownership.confirm();
      else void idle.during(() => answer(request));
    },
    stop: async () => undefined,
  };
});

interface Context {
  readonly model: LoadedModel;
  readonly emit: (event: TrainingEvent) => Promise<void>;
}

async function run(context: Context, request: RunRequest): Promise<TrainingEvent> {
  const report = async (event: TrainingEvent): Promise<void> => {
    void context.emit(event);
    await flushMessages();
  };
  // If the request repeats earlier jobs, their events must not reach the parent, so a heartbeat is sent in place of
  // each of these events.
  const unread = (): Promise<void> => report({ kind: "alive" });
  await context.model.requireAble();
  const { runs, comparedWith } = request;
  let outcome = await train(context, runs[0], runs.length === 1 ? report : unread);
  for (const [index, run] of runs.entries()) {
    if (index === 0) continue;
    const { adapterFolder, trainerState, adapterHash: fromHash } = outcome;
    const next = { ...run, from: { adapterFolder, trainerState }, fromHash };
    outcome = await train(context, next, index === runs.length - 1 ? report : unread);
  }
  if (comparedWith === null) return { kind: "finished", outcome };
  const { artifacts } = context.model;
  const version = await artifacts.path(comparedWith, null);
  const replayed = await artifacts.path(outcome.adapterFolder, null);
  return { kind: "finished", outcome: { ...outcome, comparison: compareVersions(version, replayed) } };
}

function train({ model }: Context, run: TrainingRun, report: JobReport): Promise<JobOutcome> {
  const lines = { count: run.lineCount, from: (index: number) => readLines(linesFileOf(run), index) };
  // This signal never aborts, because the parent ends the whole process instead.
  const { signal } = new AbortController();
  return runTrainingJob({ ...model, lines, report, clock: systemClock, signal }, run);
}

/** Lets the event loop send pending messages, and notice the parent's exit, before the next step blocks the thread. */
function flushMessages(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Nice value (scheduling priority) of the training process, so that the serving process gets the CPU cores first. */
const niceness = 10;

/**
 * Asks the parent whether this server still owns the job that this process runs. If another server owns it, the parent
 * ends this process.
 */
class Ownership {
  readonly #ask: () => Promise<void>;
  readonly #waiting: (() => void)[] = [];

  constructor(ask: () => Promise<void>) {
    this.#ask = ask;
  }

  async require(): Promise<void> {
    refuseOrphan();
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      void this.#ask();
    });
  }

  /**
   * Confirms that this server owns the job. The parent answers questions in order, so the confirmation belongs to the
   * oldest open question.
   */
  confirm(): void {
    this.#waiting.shift()?.();
  }
}

async function load(
  options: TrainingLoad,
  {
    onHeartbeat,
    mayPut,
  }: {
    /** Called at each heartbeat of a remote trainer. */
    readonly onHeartbeat: () => void;
    readonly mayPut: () => Promise<void>;
  },
): Promise<LoadedModel> {
  setPriority(niceness);
  const { baseModel, settings, elsewhere } = options;
  const { folder, toolsAsText } = baseModel;
  const whole = readModelConfig(folder);
  // Builds rotary position tables only up to the longest sequence that may be trained, because later rows are never
  // read.
  const config = { ...whole, contextLength: Math.min(whole.contextLength, settings.sequenceLengthMax) };
  const tokenizer = await loadTokenizer(folder);
  const { server } = options.artifacts;
  const artifacts = openArtifacts(options.artifacts, { server: () => server, mayPut });
  const template = await loadChatTemplate(folder, { toolsAsText });
  // Imports dynamically, so that only the code of the chosen trainer is loaded.
  const trainers =
    elsewhere === null
      ? await (await import("./embedded/load-trainers.ts")).loadTrainers(options, { config, artifacts })
      : (await import("./tinker/load-trainers.ts")).loadTrainers(options, { config, elsewhere, onHeartbeat });
  return {
    artifacts,
    ...trainers,
    base: baseModel.weights,
    settings: pinnedSettings(settings),
    snapshotShare: settings.snapshotShare,
    tokenizer: {
      ...createConversationTokenizer(tokenizer, template, config.vocabularySize),
      ...createTurnRenderer({
        tokenizer,
        template,
        vocabularySize: config.vocabularySize,
        endTokenIds: [
          ...(tokenizer.endOfTextId === null ? [] : [tokenizer.endOfTextId]),
          ...config.endOfTextIds,
        ],
      }),
    },
  };
}

async function* readLines(file: string, from: number): AsyncGenerator {
  let index = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    if (index >= from) yield JSON.parse(line);
    index += 1;
  }
}
