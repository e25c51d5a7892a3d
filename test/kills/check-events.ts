// Compares the received webhook events with the changes to feedback and jobs. Each change must have exactly one event
// id, and each event must belong to a change.
import type { FailingReceiver } from "./failing-receiver.ts";
import type { FeedbackLedger } from "./feedback-ledger.ts";

/** Changes that happened: acknowledged ones, and unanswered ones that were later found to be stored. */
export interface Happened {
  readonly ledgers: readonly FeedbackLedger[];
  readonly jobIds: readonly string[];
}

/** @returns descriptions of the differences */
export function checkEvents(receiver: FailingReceiver, { ledgers, jobIds }: Happened): readonly string[] {
  const created = ledgers.flatMap(({ createdIds }) => createdIds);
  const purged = ledgers.flatMap(({ purgedIds }) => purgedIds);
  return [
    ...toldOnce(receiver, "feedback.created", created),
    ...toldOnce(receiver, "feedback.purged", purged),
    ...toldOnce(receiver, "training_ended", jobIds),
    ...ledgers.flatMap(({ revisions }) => toldAsOften(receiver, "feedback.replaced", revisions)),
  ];
}

function toldOnce(receiver: FailingReceiver, type: string, ids: readonly string[]): readonly string[] {
  const left = new Map(receiver.taken(type));
  const faults: string[] = [];
  for (const id of ids) {
    const count = left.get(id)?.size ?? 0;
    left.delete(id);
    if (count !== 1) faults.push(`${type} of ${id} was told by ${count} events`);
  }
  for (const id of left.keys()) faults.push(`${type} of ${id} was told, and did not happen`);
  return faults;
}

function toldAsOften(
  receiver: FailingReceiver,
  type: string,
  counts: FeedbackLedger["revisions"],
): readonly string[] {
  return [...counts].flatMap(([id, { least, most }]) => {
    const count = receiver.taken(type).get(id)?.size ?? 0;
    return count < least || count > most
      ? [`${type} of ${id} was told by ${count} events of ${least} to ${most}`]
      : [];
  });
}
