// Converts the filters in the URL of the feedback view to a condition of the API. Has no side effects.
import type { FeedbackQueryReq } from "../../client/api.ts";
import { filtersNamed } from "../components/filters.ts";

export const filterNames = ["project", "type", "creator", "since", "until"] as const;
export type FeedbackFilters = { readonly [Name in (typeof filterNames)[number]]?: string };

export function filtersIn(query: URLSearchParams): FeedbackFilters {
  return filtersNamed(filterNames, query);
}

/** Returns the condition; null if it selects all records of the project. */
export function conditionOf(filters: FeedbackFilters): NonNullable<FeedbackQueryReq["query"]> | null {
  const { type, creator, since, until } = filters;
  const conditions = [
    ...(type === undefined ? [] : [compare("$eq", "feedback_type", type)]),
    ...(creator === undefined
      ? []
      : [{ $or: [compare("$eq", "creator", creator), compare("$eq", "vendor_user_id", creator)] }]),
    ...(since === undefined ? [] : [compare("$gte", "created_at", since)]),
    ...(until === undefined ? [] : [compare("$lt", "created_at", until)]),
  ];
  if (conditions.length === 0) return null;
  return { $expr: conditions.length === 1 ? conditions[0] : { $and: conditions } };
}

/** Returns the project and the id of the call that a reference names; null for other references. */
export function callOf(reference: string): { readonly project: string; readonly id: string } | null {
  const [, project, id] = /^[^/]*:\/\/\/([^/]+\/[^/]+)\/call\/([^/]+)/.exec(reference) ?? [];
  if (project === undefined || id === undefined) return null;
  try {
    return { project, id: decodeURIComponent(id) };
  } catch {
    return { project, id };
  }
}

function compare(operator: string, field: string, literal: string): Readonly<Record<string, unknown>> {
  return { [operator]: [{ $getField: field }, { $literal: literal }] };
}
