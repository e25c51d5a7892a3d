// Finds the neighbours of a recorded chat in the list from which it was opened.
import type { StoredChatCompletion } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { firstFound } from "../components/filters.ts";
import { orderedRows } from "../components/tables/data-table.tsx";
import { layoutIn } from "../components/tables/table-layout.ts";
import { callOf, filtersIn as feedbackFilters } from "../feedback-list/feedback-query.ts";
import type { ListPlace } from "../neighbours/list-place.ts";
import { type Neighbours, neighboursAmong } from "../neighbours/neighbours.ts";
import { columnsWith } from "./recorded-columns.tsx";
import { askedPage } from "./recorded-query.ts";

/** A chat, which its project and its request id identify. */
export interface ChatKey {
  readonly project: string;
  readonly id: string;
}

/** Chats before and after a chat; null at the ends of the list. */
export interface ChatNeighbours {
  readonly previous: ChatKey | null;
  readonly next: ChatKey | null;
}

/**
 * Returns the neighbours of a chat. The list of chats continues beyond its pages, unless the user has sorted a page. In
 * lists of feedback and of a queue's items, the neighbours are the other chats of the page.
 *
 * @param entity entity of a project that the list names without one
 */
export async function chatNeighbours(
  hone: Hone,
  chat: ChatKey,
  list: ListPlace & { readonly entity: string },
  signal: AbortSignal,
): Promise<ChatNeighbours> {
  const { query, view } = list;
  if (view !== "conversations" || layoutIn(query).sort !== undefined) {
    const keys = (await keysOf(hone, list, signal)).map((key) => JSON.stringify([key.project, key.id]));
    const found = neighboursAmong([...new Set(keys)], JSON.stringify([chat.project, chat.id]));
    if (found !== null) return { previous: keyIn(found.previous), next: keyIn(found.next) };
    if (view !== "conversations") return { previous: null, next: null };
  }
  const [older, newer] = await Promise.all(
    (["desc", "asc"] as const).map(async (order) => {
      const asked = { ...askedPage(query, list.entity), order, after: chat.id, limit: 1 };
      const [row] = (await firstFound(hone.recordings.list(asked, { signal }).pages()))?.data ?? [];
      return row === undefined ? null : keyOf(row);
    }),
  );
  return { previous: newer ?? null, next: older ?? null };
}

/** Returns the chats of a page of a list, in the order in which the page shows them. */
async function keysOf(
  hone: Hone,
  { view, parts: [queueId = ""], query, entity }: ListPlace & { readonly entity: string },
  signal: AbortSignal,
): Promise<readonly ChatKey[]> {
  const project = query.get("project") ?? "";
  const after = query.get("after") ?? "0";
  const ofReferences = (references: readonly string[]) =>
    references.flatMap((reference) => callOf(reference) ?? []);
  switch (view) {
    case "conversations": {
      const { data } = await hone.recordings.list(askedPage(query, entity), { signal }).first();
      return orderedRows(data, columnsWith(new Map(), data), layoutIn(query)).map(keyOf);
    }
    case "feedback": {
      const { feedbackColumns, readFeedback } = await import("../feedback-list/feedback-table.tsx");
      const { rows } = await readFeedback(hone, project, feedbackFilters(query), Number(after), signal);
      const shown = orderedRows(rows, feedbackColumns, layoutIn(query));
      return ofReferences(shown.map(({ vendor_ref: reference }) => reference));
    }
    case "queues": {
      const { itemColumns, readItems } = await import("../annotating/item-table.tsx");
      const queue = { project_id: project, queue_id: queueId };
      const { rows } = await readItems(hone, queue, { after, state: query.get("state") ?? "" }, signal);
      const shown = orderedRows(rows, itemColumns, layoutIn(query));
      return ofReferences(shown.map(({ item }) => item.vendor_ref));
    }
    default:
      return [];
  }
}

function keyOf({ project_id: project, request_id: id }: StoredChatCompletion): ChatKey {
  return { project, id };
}

function keyIn(text: Neighbours["next"]): ChatKey | null {
  if (text === null) return null;
  // Safe cast: parsed from a pair that `chatNeighbours` wrote.
  const [project, id] = JSON.parse(text) as readonly [string, string];
  return { project, id };
}
