// The training process: runs one job after another for one base model, as its parent sends them. All native compute of
// training happens here, so that a crash in it loses one attempt and not the server.
import { createReadStream } from "node:fs";
import { setPriority } from "node:os";
import { createInterface } from "node:readline";
import { openArtifacts } from "../../store/artifacts/open-artifacts.ts";
import { systemClock } from "../../base/domain/clock.ts";
import type { JobOutcome, JobReport } from "../../base/domain/job.ts";
import { readModelConfig } from "../../inference/architectures/config/read-config.ts";
import { failureOf } from "../../base/processes/carried-error.ts";
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

/** How long programs stay that hold much memory: jobs that were sent together follow one another within less. */
const programsKeptMs = 2000;

/** Of what training may have: programs that hold no more stay as long as the process, since loading them takes seconds. */
const programsKeptShare = 1 / 8;

type LoadedModel = LoadedTrainers & Omit<TrainingJobDependencies, "lines" | "report" | "clock" | "signal">;

serveParent<TrainingProtocol>(async (options, emitMeasured) => {
  const emit = (event: TrainingEvent): Promise<void> =>
    emitMeasured({ ...event, heldBytes: process.memoryUsage.rss() });
  const ownership = new Ownership(() => emit({ kind: "asks-for-job" }));
  const model = await load(options, {
    onSign: () => void emit({ kind: "alive" }),
    mayPut: () => ownership.require(),
  });
  // Programs keep the memory that they have had; where they are closed the next job makes them again.
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
    // The parent may send the next job before it is known here that it has the last one's outcome.
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
  // The parent hears only that there is progress.
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
  // The parent ends this process instead of aborting.
  const { signal } = new AbortController();
  return runTrainingJob({ ...model, lines, report, clock: systemClock, signal }, run);
}

/** Lets the event loop send messages, and notice a parent that has gone, before the next step takes the thread. */
function flushMessages(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** So that serving has the cores first. */
const niceness = 10;

/** Asks the parent whether the job is still its own. One whose job another server has ends this process. */
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

  /** Answers come in the order of the questions. */
  confirm(): void {
    this.#waiting.shift()?.();
  }
}

async function load(
  options: TrainingLoad,
  {
    onSign,
    mayPut,
  }: {
    /** Called whenever a trainer elsewhere shows that it is there. */
    readonly onSign: () => void;
    readonly mayPut: () => Promise<void>;
  },
): Promise<LoadedModel> {
  setPriority(niceness);
  const { baseModel, settings, elsewhere } = options;
  const { folder, toolsAsText } = baseModel;
  const whole = readModelConfig(folder);
  // The rotary tables need no more rows than the longest sequence.
  const config = { ...whole, contextLength: Math.min(whole.contextLength, settings.sequenceLengthMax) };
  const tokenizer = await loadTokenizer(folder);
  const { server } = options.artifacts;
  const artifacts = openArtifacts(options.artifacts, { server: () => server, mayPut });
  const template = await loadChatTemplate(folder, { toolsAsText });
  // What computes is loaded where it does.
  const trainers =
    elsewhere === null
      ? await (await import("./embedded/load-trainers.ts")).loadTrainers(options, { config, artifacts })
      : (await import("./tinker/load-trainers.ts")).loadTrainers(options, { config, elsewhere, onSign });
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
