// Finds items for a queue with a query: the subjects of matching feedback, or matching recorded completions.
import type { ItemDraft } from "../../base/domain/annotation/queue.ts";
import type { Condition } from "../../base/domain/feedback-query/condition.ts";
import { callIdOf, callReference } from "../../base/domain/recordings/call-reference.ts";
import type { CompletionFilter, CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { CompletionOutline } from "../../base/domain/recordings/recorded-completion.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { draftOf } from "./item-references.ts";
import { type RecordSource, scannedRecords } from "./scanned-records.ts";

/** Filter for the completions that the queue's project recorded. A field that is null does not restrict the result. */
export type RecordedFilter = Pick<CompletionFilter, "modelId" | "step" | "endedFrom" | "endedBefore">;

interface QueriedPart {
  readonly projectId: string;
  readonly itemsMax: number;
}

/**
 * Returns the distinct subjects of a project's matching feedback, in the order of their first matching record. Skips
 * subjects of other projects.
 *
 * @throws ServiceError `too_large` for more than `itemsMax` subjects
 */
export async function ratedItems(
  source: RecordSource,
  { projectId, condition, itemsMax }: QueriedPart & { readonly condition: Condition },
): Promise<readonly ItemDraft[]> {
  const drafts = new Map<string, ItemDraft>();
  for await (const records of scannedRecords(source, { projectId, condition })) {
    for (const { vendorRef } of records) {
      const draft = drafts.has(vendorRef) ? null : draftOf(vendorRef);
      if (draft !== null && isOfProject(vendorRef, projectId)) drafts.set(vendorRef, draft);
    }
    if (drafts.size > itemsMax) throw tooMany(itemsMax);
  }
  return [...drafts.values()];
}

function isOfProject(reference: string, projectId: string): boolean {
  return reference.slice(reference.indexOf(":///") + 4).startsWith(`${projectId}/`);
}

/**
 * Returns items for recorded completions of a project, newest first. A completion with several choices gets an item for
 * each choice.
 *
 * @throws ServiceError `too_large` for more than `itemsMax` items
 */
export async function recordedItems(
  store: Pick<CompletionStore, "list">,
  { projectId, itemsMax, ...filter }: QueriedPart & RecordedFilter,
): Promise<readonly ItemDraft[]> {
  const drafts: ItemDraft[] = [];
  for (let after: number | null = null; ;) {
    const asked = { ...filter, entity: null, projectId, requestId: null, feedback: null };
    const page = await store.list(asked, { after, limit: 100, order: "desc" });
    for (const completion of page.items) drafts.push(...draftsOfChoices(completion));
    if (drafts.length > itemsMax) throw tooMany(itemsMax);
    if (!page.hasMore) return drafts;
    after = page.last;
  }
}

/** A judgement of several choices at once would say nothing about the reward of each choice. */
function draftsOfChoices({
  projectId,
  requestId,
  finishReasons,
}: Pick<CompletionOutline, "projectId" | "requestId" | "finishReasons">): readonly ItemDraft[] {
  const choices = finishReasons.length > 1 ? [...finishReasons.keys()] : [null];
  return choices.map((choice) => ({
    vendorRef: callReference({ projectId, requestId }, choice),
    callId: callIdOf(requestId),
  }));
}

function tooMany(itemsMax: number): ServiceError {
  const message = `The query finds more than ${itemsMax} items; ask for a part of them, such as those since a time.`;
  return new ServiceError({ code: "too_large", message });
}
