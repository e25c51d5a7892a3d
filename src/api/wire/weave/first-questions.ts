// What clients of Weave ask before they begin: which server this is, and, in GraphQL, whether a project is there and who they
// are. Of GraphQL these questions are known, by the fields that they ask for, and no other.
import { Type } from "typebox";
import type { BodyForm } from "../body.ts";
import { anyObject, open } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";

export const serverInfoSchema = Type.Object(
  {
    min_required_weave_python_version: Type.String({ description: "Every client version is accepted." }),
    trace_server_version: Type.String({ description: "Version of this server." }),
  },
  { title: "WeaveServerInfo" },
);

const graphqlSchema = Type.Object(
  {
    query: Type.String({
      maxLength: 65_536,
      description: "A GraphQL query for `project`, `upsertModel` or `viewer`.",
    }),
    variables: nullable(anyObject, { description: "Variables of the query." }),
    operationName: nullable(Type.String(), { description: "Name of the operation to run." }),
  },
  { title: "WeaveGraphqlReq" },
);
export const graphqlForm: BodyForm<typeof graphqlSchema> = { schema: graphqlSchema };
export const graphqlAnswerSchema = Type.Object({ data: Type.Object({}, open) });

/** A question of a client. */
export type FirstQuestion =
  /** Whether a project is there, or that it be: projects are there as soon as they are named. */
  | { readonly field: "project" | "upsertModel"; readonly entity: string; readonly project: string }
  /** Who the key is. */
  | { readonly field: "viewer" };

/** What a query asks for; null where that is something else. */
export function questionIn(
  query: string,
  variables: Readonly<Record<string, unknown>>,
): FirstQuestion | null {
  // The first field behind the operation's own braces.
  const field = /\{\s*(\w+)/.exec(query)?.[1];
  if (field === "viewer") return { field };
  if (field !== "project" && field !== "upsertModel") return null;
  const [entity, project] = [variables["entityName"] ?? variables["entity"], variables["name"]];
  if (typeof entity !== "string" || typeof project !== "string") return null;
  return { field, entity, project };
}
