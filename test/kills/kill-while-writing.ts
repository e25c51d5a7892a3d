// Kills the server at random while feedback is written in every way, and looks after each start whether what was acknowledged
// is there as it was acknowledged, and nothing is there in part or twice.
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../src/domain/random.ts";
import { newDataFolder, removeDataFolder, startServer, type RunningServer } from "../running-server.ts";
import { model } from "../served-jobs.ts";
import { FeedbackWriters } from "./feedback-writers.ts";

export interface WritingKillReport {
  readonly rounds: number;
  /** Records of which clients were told something. */
  readonly acknowledged: number;
  /** Operations that were not answered before a kill. */
  readonly unanswered: number;
  /** In words; none when all is well. */
  readonly faults: readonly string[];
}

export interface WritingKillOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly log?: (line: string) => void;
}

/** How long is written before a kill, in milliseconds. */
const writingMsMax = 700;

/** The same seed chooses the same pauses. */
export async function killWhileWriting({
  seed,
  rounds,
  log = () => undefined,
}: WritingKillOptions): Promise<WritingKillReport> {
  const random = seededRandom("kills while writing", seed);
  const dataFolder = newDataFolder();
  const start = (): Promise<RunningServer> => startServer({ dataFolder, flags: model });
  let server = await start();
  const all: FeedbackWriters[] = [];
  const faults: string[] = [];
  let unanswered = 0;
  try {
    for (let round = 1; round <= rounds; round++) {
      const writers = new FeedbackWriters(server, random, `round-${round}`);
      all.push(writers);
      const writing = writers.write();
      await Promise.race([writing, sleep(random.index(writingMsMax))]);
      await server.kill();
      await writing;
      const count = writers.ledger.unanswered.length;
      unanswered += count;
      server = await start();
      const found = [...(await writers.sendAgain(server)), ...(await writers.check(server))];
      faults.push(...found.map((fault) => `round ${round}: ${fault}`));
      log(`${round}: ${writers.ledger.acknowledgedCount} records, ${count} operations without an answer`);
    }
    // What was there once stays, whatever died since.
    for (const writers of all)
      faults.push(...(await writers.check(server)).map((fault) => `at the end: ${fault}`));
    const acknowledged = all.reduce((sum, { ledger }) => sum + ledger.acknowledgedCount, 0);
    return { rounds, acknowledged, unanswered, faults };
  } finally {
    await server.kill();
    removeDataFolder(dataFolder);
  }
}
