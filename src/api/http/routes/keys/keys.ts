// Keys, for administrators: making, listing, changing, rotating and revoking them.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { noLimits } from "../../../../base/domain/keys/limits.ts";
import { requireAdministrator } from "../../credentials/require-administrator.ts";
import { graceSecondsDefault, graceSecondsMax } from "../../../../access/keys/key-service.ts";
import {
  keyBody,
  keyChangeForm,
  keyChoices,
  keyCreateForm,
  keyPageSchema,
  keyPlaces,
  keyQuerySchema,
  keyRotationForm,
  keySchema,
  newKeySchema,
} from "../../../wire/keys/key.ts";
import { pageAnswer, pageRequest } from "../../../wire/page.ts";
import { locate } from "../../../wire/places.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { readBody } from "../../input/read-body.ts";

const documented = { tags: ["keys"], security: [{ bearer: [] }] };
const path = "/v1/preview/keys";

interface KeyPath {
  Params: { key_id: string };
}

const keyParameters = {
  type: "object",
  properties: { key_id: { type: "string", description: "The key's id." } },
} as const;

const rotationForm = keyRotationForm({ secondsDefault: graceSecondsDefault, secondsMax: graceSecondsMax });
const one = answered("The key, without its secret.", { json: keySchema });
const oneWithSecret = answered("The key, with its secret, which no other answer has.", {
  json: newKeySchema,
});
/** Before the body is read. */
export const forAdmins = { onRequest: async (request: FastifyRequest) => refuseMember(request) };

export function keyRoutes(app: FastifyInstance, { keyService: keys }: HttpDependencies): void {
  app.post(
    path,
    {
      ...forAdmins,
      schema: {
        summary: "Create a key",
        description: "For administrators, as all of these. It holds from the next request on.",
        body: keyCreateForm.schema,
        response: oneWithSecret,
        ...documented,
      },
    },
    async (request, reply) => {
      const body = readBody(keyCreateForm, request, reply);
      const asked = {
        ...noChoices,
        ...keyChoices(body),
        entity: body.entity ?? request.caller.entity,
        owner: body.owner ?? null,
        role: body.role ?? "member",
      };
      const { key, secret } = await keys.create(asked).catch(located);
      return { ...keyBody(key), key: secret };
    },
  );
  app.get(
    path,
    {
      ...forAdmins,
      schema: {
        summary: "List keys",
        querystring: keyQuerySchema,
        response: answered("A page of them, the newest first unless asked, revoked ones included.", {
          json: keyPageSchema,
        }),
        ...documented,
      },
    },
    (request, reply) => {
      const query = readQuery(keyQuerySchema, request, reply);
      return pageAnswer(keys.list(pageRequest(query, "desc"), { entity: query.entity ?? null }), keyBody);
    },
  );
  app.get<KeyPath>(
    `${path}/:key_id`,
    {
      ...forAdmins,
      schema: { summary: "Read a key", params: keyParameters, response: one, ...documented },
    },
    async ({ params }) => keyBody(await keys.find(params.key_id).catch(located)),
  );
  app.post<KeyPath>(
    `${path}/:key_id`,
    {
      ...forAdmins,
      schema: {
        summary: "Change a key",
        description: "What is named changes, for requests from then on; null takes a limit away.",
        params: keyParameters,
        body: keyChangeForm.schema,
        response: one,
        ...documented,
      },
    },
    async (request, reply) => {
      const choices = keyChoices(readBody(keyChangeForm, request, reply));
      return keyBody(await keys.change(request.params.key_id, choices).catch(located));
    },
  );
  app.post<KeyPath>(
    `${path}/:key_id/rotate`,
    {
      ...forAdmins,
      schema: {
        summary: "Give a key another secret",
        description:
          "The key stays what it is, with its id. Its present secret holds for a grace time, in which programs can be given the new one; a secret from before that ends at once.",
        params: keyParameters,
        body: rotationForm.schema,
        response: oneWithSecret,
        ...documented,
      },
    },
    async (request, reply) => {
      const { grace_seconds: seconds } = readBody(rotationForm, request, reply);
      const { key, secret } = await keys
        .rotate(request.params.key_id, seconds ?? graceSecondsDefault)
        .catch(located);
      return { ...keyBody(key), key: secret };
    },
  );
  app.delete<KeyPath>(
    `${path}/:key_id`,
    {
      ...forAdmins,
      schema: {
        summary: "Revoke a key",
        description:
          "It is refused from the next request on, and what runs for it ends. It stays in the list.",
        params: keyParameters,
        response: one,
        ...documented,
      },
    },
    async ({ params }) => keyBody(await keys.revoke(params.key_id).catch(located)),
  );
}

const noChoices = { name: null, expiresAt: null, scopes: null, project: null, ...noLimits } as const;

function refuseMember(request: FastifyRequest): void {
  requireAdministrator(request, "Keys are made and changed by administrators; this one is a member's.");
}

function located(error: unknown): never {
  throw locate(error, keyPlaces);
}
