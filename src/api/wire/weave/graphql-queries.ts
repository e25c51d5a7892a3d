// First requests of Weave clients: the server's version, and, in GraphQL, whether a project exists and who they are.
// Only these GraphQL queries are supported, recognized by the fields that they ask for.
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

/** A query of a client. */
export type GraphqlQuery =
  /** Asks whether a project exists, or creates it; projects exist as soon as they are named. */
  | { readonly field: "project" | "upsertModel"; readonly entity: string; readonly project: string }
  /** Asks who the key's owner is. */
  | { readonly field: "viewer" };

/** Returns what a query asks for; null for any other query. */
export function parseGraphqlQuery(
  query: string,
  variables: Readonly<Record<string, unknown>>,
): GraphqlQuery | null {
  // First field within the operation's braces.
  const field = /\{\s*(\w+)/.exec(query)?.[1];
  if (field === "viewer") return { field };
  if (field !== "project" && field !== "upsertModel") return null;
  const [entity, project] = [variables["entityName"] ?? variables["entity"], variables["name"]];
  if (typeof entity !== "string" || typeof project !== "string") return null;
  return { field, entity, project };
}
