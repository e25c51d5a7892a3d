// `hone jobs watch`: show the progress of a running job, as curves on a terminal and as plain lines elsewhere.
import type { Command } from "commander";
import type { Hone } from "../../client/hone.ts";
import type { TrainingEvent, TrainingJob } from "../../client/api.ts";
import { present } from "../../../base/domain/assert.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { findJobId } from "../names/named-job.ts";
import { addStep, formatEvent, renderJob } from "../watch/job-view.ts";
import { LiveScreen } from "../watch/live-screen.ts";
import { type JsonFlag, printJsonLine } from "../json-output.ts";

/** Maximum time without a connection in milliseconds. A server can restart in this time. */
const deadline = 120_000;
/** Polling interval for data that no event reports: phase, time left, and the reason why the job waits. */
const pollMs = 1000;

export function addWatchCommand(jobs: Command): void {
  addConnectionFlags(
    jobs
      .command("watch <id>")
      .description("Show a training job's progress until it ends; fails if the job fails."),
  )
    .option("--json", "print the job's events, one JSON object per line")
    .option("--plain", "print one line per event, as when the output is not a terminal")
    .action(async (id: string, flags: ConnectionFlags & JsonFlag & { readonly plain?: boolean }) => {
      const client = connect(flags);
      await watchJob(client, await findJobId(client, id), flags);
    });
}

/** Watches a job until it ends, and sets exit status 1 unless it succeeded. */
export async function watchJob(
  client: Hone,
  id: string,
  flags: JsonFlag & { readonly plain?: boolean } = {},
): Promise<void> {
  const { json = false, plain = false } = flags;
  const isLive = process.stdout.isTTY && !json && !plain;
  const last = isLive ? await watchLive(client, id) : await watchPlainly(client, id, flags);
  if (last.type === "training_failed") process.exitCode = 1;
}

async function watchPlainly(client: Hone, id: string, flags: JsonFlag): Promise<TrainingEvent> {
  // Prints all other messages to standard error, so that a program that reads standard output gets only events.
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  const followed = client.jobs.follow(id, {
    deadline,
    onLost: (reason) => print(lostNotice(reason)),
    onBack: () => print("reconnected"),
  });
  return lastOf(followed, (event) => {
    if (flags.json === true) printJsonLine(event, flags);
    else process.stdout.write(`${formatEvent(event)}\n`);
  });
}

/** Calls `onEvent` for each event and returns the last one. Every finished job has at least one event. */
async function lastOf(
  events: AsyncIterable<TrainingEvent>,
  onEvent: (event: TrainingEvent) => void,
): Promise<TrainingEvent> {
  let last: TrainingEvent | undefined;
  for await (last of events) onEvent(last);
  return present(last, "the event that ended the job");
}

function lostNotice(reason: string): string {
  return `connection lost (${reason}); retrying for ${deadline / 1000} s while the job continues`;
}

async function watchLive(client: Hone, id: string): Promise<TrainingEvent> {
  const screen = new LiveScreen(process.stdout);
  const series = new Map<string, number[]>();
  let job: TrainingJob | null = await client.jobs.get(id);
  let notice: string | null = null;
  const draw = (): void => {
    const { columns, rows } = process.stdout;
    screen.show(renderJob({ job, series, notice }, { columns, rows }));
  };
  const say = (text: string | null): void => {
    notice = text;
    draw();
  };
  const polling = new AbortController();
  const poll = async (): Promise<void> => {
    for (; !polling.signal.aborted;) {
      draw();
      // `sleep` rejects when the job has ended.
      await systemClock.sleep(pollMs, { signal: polling.signal }).catch(() => undefined);
      // Keeps the last state if a poll fails, because the follower already reports a lost connection.
      job = await client.jobs.get(id, { signal: polling.signal }).catch(() => job);
    }
  };
  const restoreCursor = (): void => {
    screen.end();
    process.exit(130);
  };
  process.once("SIGINT", restoreCursor);
  const polled = poll();
  try {
    const followed = client.jobs.follow(id, {
      deadline,
      onLost: (reason) => say(lostNotice(reason)),
      onBack: () => say(null),
    });
    return await lastOf(followed, (event) => event.type === "gradient_step" && addStep(series, event));
  } finally {
    polling.abort();
    await polled;
    job = await client.jobs.get(id).catch((error: unknown) => {
      notice ??= error instanceof Error ? error.message : String(error);
      return job;
    });
    draw();
    screen.end();
    process.off("SIGINT", restoreCursor);
  }
}
