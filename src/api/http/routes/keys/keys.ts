// Keys, for administrators: creates, lists, changes, rotates and revokes them.
import type { FastifyInstance } from "fastify";
import type { NewKey } from "../../../../access/keys/key-service.ts";
import {
  keyAnswer,
  keyChangeForm,
  keyCreateForm,
  keyQuerySchema,
  keyRotationForm,
  newKeyAnswer,
} from "../../../wire/keys/key.ts";
import { pageAnswer, pageRequest, pageSchema } from "../../../wire/page.ts";
import { adminOnly } from "../../credentials/admin-only.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";

export const keyAdminOptions = adminOnly(
  "Only administrators can create and change keys; this one is a member's.",
);

export function keyRoutes(app: FastifyInstance, { keyService: keys }: HttpDependencies): void {
  const on = endpoints(app, { tag: "keys", scheme: "bearer", options: keyAdminOptions });
  const one = { answer: "The key, without its secret.", json: keyAnswer.schema };
  const oneWithSecret = {
    answer: "The key with its secret, which no other answer contains.",
    json: newKeyAnswer.schema,
  };
  on(
    "POST /v1/preview/keys",
    {
      summary: "Create a key",
      description:
        "For administrators, as are all routes for keys. The key is valid from the next request on.",
      body: keyCreateForm,
      ...oneWithSecret,
    },
    async ({ body: { entity, role, ...choices }, caller }) =>
      withSecret(await keys.create({ ...choices, entity: entity ?? caller.entity, role: role ?? "member" })),
  );
  on(
    "GET /v1/preview/keys",
    {
      summary: "List keys",
      query: keyQuerySchema,
      answer: "A page of keys, newest first by default, including revoked ones.",
      json: pageSchema(keyAnswer.schema),
    },
    ({ query }) =>
      pageAnswer(keys.list(pageRequest(query, "desc"), { entity: query.entity ?? null }), keyAnswer.body),
  );
  on("GET /v1/preview/keys/:key_id", { summary: "Read a key", ...one }, async ({ params }) =>
    keyAnswer.body(await keys.find(params.key_id)),
  );
  on(
    "POST /v1/preview/keys/:key_id",
    {
      summary: "Change a key",
      description: "Only named fields change, from the next request on; null removes a limit.",
      body: keyChangeForm,
      ...one,
    },
    async ({ params, body }) => keyAnswer.body(await keys.change(params.key_id, body)),
  );
  on(
    "POST /v1/preview/keys/:key_id/rotate",
    {
      summary: "Rotate a key's secret",
      description:
        "The key keeps its id and settings. The present secret stays valid for a grace period, in which you can give the new one to programs. A secret older than the present one ends immediately.",
      body: keyRotationForm,
      ...oneWithSecret,
    },
    async ({ params, body }) => withSecret(await keys.rotate(params.key_id, body.graceSeconds)),
  );
  on(
    "DELETE /v1/preview/keys/:key_id",
    {
      summary: "Revoke a key",
      description:
        "The key is refused from the next request on, and its running requests end. It stays in the list.",
      ...one,
    },
    async ({ params }) => keyAnswer.body(await keys.revoke(params.key_id)),
  );
}

function withSecret({ key, secret }: NewKey): object {
  return newKeyAnswer.body({ ...key, key: secret });
}
