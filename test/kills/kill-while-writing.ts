// Kills the server while clients write feedback in every way, people judge a model's answers, a webhook reports events
// and an automatic rule trains. After each start, checks that acknowledged data is stored completely and exactly once.
// At the end, checks that every event was sent and every judgement was used for training once.
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../src/base/domain/random.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "../running-server.ts";
import { model, registerModel } from "../served-jobs.ts";
import { checkEvents } from "./check-events.ts";
import { FailingReceiver } from "./failing-receiver.ts";
import { FeedbackWriters } from "./feedback-writers.ts";
import { ThumbGivers } from "./thumb-givers.ts";

export interface WritingKillReport {
  readonly rounds: number;
  /** Number of records for which clients got an acknowledgement. */
  readonly acknowledged: number;
  /** Number of operations without an answer, because the server was killed. */
  readonly unanswered: number;
  /** Number of events that the webhook received, and number of events that it received more than once. */
  readonly events: number;
  readonly repeatedEvents: number;
  /** Number of the automatic rule's jobs, and number of answers that these jobs trained on. */
  readonly jobs: number;
  readonly trained: number;
  /** Descriptions of errors; empty if there are none. */
  readonly faults: readonly string[];
}

export interface WritingKillOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly log?: (line: string) => void;
}

/** Maximum time of writing before a kill, in milliseconds. */
const writingMsMax = 1500;

/** Settings for frequent deaths: jobs are retried quickly and many times. */
const limits = {
  jobs: { backoffMs: 50, backoffMsMax: 200, attemptsMax: 1000, startsMax: 10_000 },
  rewards: { lookSeconds: 0.3 },
};
const flags = [...model, "--webhooks-allowed", "127.0.0.1"];

/** The same seed selects the same pauses. */
export async function killWhileWriting({
  seed,
  rounds,
  log = () => undefined,
}: WritingKillOptions): Promise<WritingKillReport> {
  const random = seededRandom("kills while writing", seed);
  const dataFolder = newDataFolder();
  const start = (): Promise<RunningServer> => startServer({ dataFolder, flags, limits });
  const receiver = await FailingReceiver.listen(seededRandom("receiver", seed));
  let server = await start();
  const all: FeedbackWriters[] = [];
  const faults: string[] = [];
  let unanswered = 0;
  try {
    const webhookId = await makeWebhook(server, receiver.url);
    const thumbs = await ThumbGivers.open(server, await registerModel(server, "a"), random);
    for (let round = 1; round <= rounds; round++) {
      const writers = new FeedbackWriters(server, random, `round-${round}`);
      all.push(writers);
      const writing = Promise.all([writers.write(), thumbs.write(server)]);
      await Promise.race([writing, sleep(random.index(writingMsMax))]);
      await server.kill();
      await writing;
      const count = writers.ledger.unanswered.length;
      unanswered += count;
      server = await start();
      // Rates an answer even if the writers were killed early, so that a job may train during the next kill.
      await thumbs.rate(server);
      const found = [...(await writers.sendAgain(server)), ...(await writers.check(server))];
      faults.push(...found.map((fault) => `round ${round}: ${fault}`));
      log(`${round}: ${writers.ledger.acknowledgedCount} records, ${count} operations without an answer`);
    }
    const trained = await thumbs.check(server);
    receiver.isWell = true;
    await eventually("all events are told", async () =>
      (await hasToldAll(server, webhookId)) ? true : null,
    );
    const ledgers = all.map(({ ledger }) => ledger);
    faults.push(...trained.faults, ...checkEvents(receiver, { ledgers, jobIds: trained.jobIds }));
    // Checks all earlier writers again: data that was stored once must survive later deaths.
    for (const writers of all)
      faults.push(...(await writers.check(server)).map((fault) => `at the end: ${fault}`));
    return {
      rounds,
      acknowledged: ledgers.reduce((sum, { acknowledgedCount }) => sum + acknowledgedCount, 0),
      unanswered,
      events: receiver.eventCount,
      repeatedEvents: receiver.repeatedCount,
      jobs: trained.jobIds.length,
      trained: trained.trainedCount,
      faults,
    };
  } finally {
    await server.kill();
    receiver.close();
    removeDataFolder(dataFolder);
  }
}

/**
 * Creates a webhook for changes of the writers' feedback and for jobs.
 *
 * @returns the webhook's id
 */
async function makeWebhook(server: RunningServer, url: string): Promise<string> {
  const events = ["feedback.created", "feedback.replaced", "feedback.purged", "training_ended"];
  const webhook = { url, events, feedback_type: "check", records_max: 1000 };
  const { status, body } = await call(server, "POST", "/v1/preview/webhooks", { body: webhook });
  if (status !== 200) throw new Error(`the webhook: ${JSON.stringify(body)}`);
  return body.id;
}

async function hasToldAll(server: RunningServer, webhookId: string): Promise<boolean> {
  const { body } = await call(server, "GET", `/v1/preview/webhooks/${webhookId}`);
  if (body.enabled !== true) throw new Error(`the webhook is disabled: ${body.disabled_reason}`);
  return body.pending === 0;
}
