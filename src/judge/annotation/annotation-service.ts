// Service for annotation queues. Allows callers to access only queues of their own entity, validates content, and adds
// ids, times and annotators' names.
import type { Caller } from "../../base/domain/access.ts";
import type { AnnotationStore } from "../../base/domain/annotation/annotation-store.ts";
import type { AnnotationItem, AnnotationQueue, QueueContent } from "../../base/domain/annotation/queue.ts";
import type { Condition } from "../../base/domain/feedback-query/condition.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import { reachProject } from "../../base/domain/project.ts";
import { notFound } from "../../base/domain/service-error.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import { createAnnotatorService, type AnnotatorService } from "./annotator-service.ts";
import { queueAgreement, type QuestionAgreement } from "./agreement/agreement.ts";
import { askedQuestions } from "./asked-questions.ts";
import { checkQueueContent } from "./check-content.ts";
import { findBeginnings } from "./item-content.ts";
import { draftsOf, type FindRecorded } from "./item-references.ts";
import { ratedItems, recordedItems, type RecordedFilter } from "./queried-items.ts";
import { reachQueue, type AnnotationDependencies, type QueueName, type ShownQueue } from "./reach-queue.ts";

/**
 * Annotation queues of projects. Every method throws ServiceError `invalid` for an invalid project id, and `forbidden`
 * for a project of another entity. Methods that take a queue also throw `not_found` for a queue that was deleted or is
 * not in the project.
 */
export interface AnnotationService extends AnnotatorService {
  /**
   * Creates a queue.
   *
   * @throws ServiceError `invalid` with every fault of the content; `update` does the same
   */
  create(projectId: string, content: QueueContent, caller: Caller): Promise<ShownQueue>;
  find(name: QueueName, caller: Caller): Promise<ShownQueue>;
  list(
    projectId: string,
    filter: Parameters<AnnotationStore["listQueues"]>[1],
    slice: Parameters<AnnotationStore["listQueues"]>[2],
    caller: Caller,
  ): Promise<readonly ShownQueue[]>;
  update(name: QueueName, content: Partial<QueueContent>, caller: Caller): Promise<ShownQueue>;
  /**
   * Deletes a queue and returns it. A deleted queue can no longer be listed or found, but feedback may still refer to
   * its id.
   */
  delete(name: QueueName, caller: Caller): Promise<ShownQueue>;
  /**
   * Adds items to a queue: calls by id, other objects by reference, the subjects of feedback that matches a condition,
   * and recorded completions.
   *
   * @throws ServiceError `too_large`, besides the errors of every method
   */
  addItems(name: QueueName, items: ItemsToAdd, caller: Caller): Promise<AddedItems>;
  listItems(
    name: QueueName,
    filter: Parameters<AnnotationStore["listItems"]>[1],
    slice: Omit<Parameters<AnnotationStore["listItems"]>[2], "at">,
    caller: Caller,
  ): Promise<readonly AnnotationItem[]>;
  /** Returns the beginnings of prompts and answers of items of a project, by the items' references. */
  findBeginnings(
    projectId: string,
    references: readonly string[],
    caller: Caller,
  ): ReturnType<typeof findBeginnings>;
  /** Returns statistics of the given queues, in the order of `queueIds`; omits queues that do not exist. */
  stats(projectId: string, queueIds: readonly string[], caller: Caller): ReturnType<AnnotationStore["stats"]>;
  /**
   * Computes how well the annotators agree on each question.
   *
   * @throws ServiceError `too_slow` and `overloaded`, besides the errors of every method
   */
  agreement(name: QueueName, caller: Caller): Promise<readonly QuestionAgreement[]>;
}

export interface ItemsToAdd {
  readonly callIds: readonly string[];
  /** Condition on the project's feedback. The subjects of matching feedback become items; null to add none. */
  readonly condition: Condition | null;
  /** Filter for recorded completions that become items; null to add none. */
  readonly recorded: RecordedFilter | null;
  readonly displayFields: AnnotationItem["displayFields"];
}

export interface AddedItems {
  readonly addedCount: number;
  /**
   * Number of items that were skipped, because the queue already contained them or the request contained them more than
   * once.
   */
  readonly duplicateCount: number;
}

export function createAnnotationService(dependencies: AnnotationDependencies): AnnotationService {
  const { store, feedback, records, completions, clock, settings, findSpec } = dependencies;
  const source = { records, clock, timeMs: feedback.queryLimits.timeMs };
  const shown = async (queue: AnnotationQueue): Promise<ShownQueue> => ({
    ...queue,
    asked: await askedQuestions(queue, findSpec),
  });
  const reach = (name: QueueName, caller: Caller): Promise<ShownQueue> =>
    reachQueue(dependencies, name, caller);
  const change = async (
    { projectId, queueId }: QueueName,
    caller: Caller,
    changes: Partial<QueueContent> & { readonly deletedAt?: Date },
  ): Promise<ShownQueue> => {
    reachProject(projectId, caller);
    const queue = await store.updateQueue(projectId, queueId, { ...changes, updatedAt: clock.now() });
    if (queue === null) throw notFound("annotation queue", queueId);
    return shown(queue);
  };
  return {
    ...createAnnotatorService(dependencies),
    create: async (projectId, content, caller) => {
      reachProject(projectId, caller);
      checkQueueContent(content, settings.questions);
      const now = clock.now();
      const queue: AnnotationQueue = {
        ...content,
        id: newUuid7(clock),
        projectId,
        createdAt: now,
        createdBy: caller.owner,
        updatedAt: now,
        deletedAt: null,
      };
      await store.createQueue(queue);
      return shown(queue);
    },
    find: reach,
    list: async (projectId, filter, slice, caller) => {
      reachProject(projectId, caller);
      const queues = await store.listQueues(projectId, filter, slice);
      return Promise.all(queues.map(shown));
    },
    update: async (name, content, caller) => {
      const { scorerRefs, questions } = await reach(name, caller);
      // Checks the new content together with the queue's unchanged questions, because names must be unique among all
      // questions.
      checkQueueContent({ scorerRefs, questions, ...content }, settings.questions);
      return change(name, caller, content);
    },
    delete: (name, caller) => change(name, caller, { deletedAt: clock.now() }),
    addItems: async (name, { callIds, condition, recorded, displayFields }, caller) => {
      await reach(name, caller);
      const { projectId } = name;
      const part = { projectId, itemsMax: settings.queueItems };
      const drafts = [
        ...(await draftsOf(projectId, callIds, recordedIn(completions))),
        ...(condition === null ? [] : await ratedItems(source, { ...part, condition })),
        ...(recorded === null ? [] : await recordedItems(completions, { ...part, ...recorded })),
      ];
      const addedCount = await store.addItems(name.queueId, drafts, {
        newId: () => newUuid7(clock),
        displayFields,
        addedBy: caller.owner,
        at: clock.now(),
        itemsMax: settings.queueItems,
      });
      if (addedCount === null) throw notFound("annotation queue", name.queueId);
      return { addedCount, duplicateCount: drafts.length - addedCount };
    },
    listItems: async (name, filter, slice, caller) => {
      await reach(name, caller);
      return store.listItems(name.queueId, filter, { ...slice, at: clock.now() });
    },
    findBeginnings: (projectId, references, caller) => {
      reachProject(projectId, caller);
      return findBeginnings(completions, projectId, references);
    },
    stats: async (projectId, queueIds, caller) => {
      reachProject(projectId, caller);
      return store.stats(projectId, queueIds, clock.now());
    },
    agreement: async (name, caller) => queueAgreement(source, await reach(name, caller)),
  };
}

/** Maximum number of recorded completions in one lookup. */
const keysMax = 100;

function recordedIn(store: Pick<CompletionStore, "findOutlines">): FindRecorded {
  return async (projectId, callIds) => {
    const found = new Set<string>();
    for (let start = 0; start < callIds.length; start += keysMax) {
      const keys = callIds.slice(start, start + keysMax).map((requestId) => ({ projectId, requestId }));
      for (const { requestId } of await store.findOutlines(keys)) found.add(requestId);
    }
    return found;
  };
}
