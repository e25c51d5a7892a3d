// Declares a route in one place: method, path, documentation, query, body, answer, and field paths for errors. The
// handler receives validated and typed parameters, query and body, and returns the answer. A handler that streams its
// answer uses `reply` instead.
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RouteShorthandOptions,
} from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import {
  type BodyForm,
  type DomainForm,
  isDomainForm,
  type ObjectSchema,
  type ValueOf,
} from "../../wire/body.ts";
import { locate, type FieldPaths } from "../../wire/field-paths.ts";
import { answered, type AnswerSchemas } from "../documentation/document-routes.ts";
import { type RawBodyForm, isRawBodyForm, rawBody } from "../bodies/body-reader.ts";
import { nameIgnored, readBody, readQuery } from "../input/read-input.ts";
import { type PathParameter, type PathParameterName, pathParameters } from "./path-parameters.ts";

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** Options that the routes of one file share. */
interface EndpointGroup {
  /** Section of the documentation that describes the routes. */
  readonly tag: string;
  readonly scheme?: "bearer" | "basic";
  /**
   * For each field that a domain error can name: the field's location in the request, such as `body` followed by the
   * field's name. An unknown id in the URL needs no entry.
   */
  readonly fieldPaths?: FieldPaths;
  readonly options?: RouteShorthandOptions;
  /** Function that documents the answers of routes without the common error body; by default `answered`. */
  readonly answered?: typeof answered;
}

interface Endpoint<Route extends string, Query, Body, Found> extends AnswerSchemas {
  readonly summary: string;
  readonly description?: string;
  /** Finds the object that the ids in the URL identify, before the query and the body are read. */
  readonly find?: (params: ParametersOf<Route>, caller: Caller) => Promise<Found>;
  readonly query?: Query;
  readonly body?: Body;
  /** Description of the answer. */
  readonly answer: string;
  /**
   * Documentation of parts of the route that the other members of this interface do not cover, such as a body that the
   * handler reads itself.
   */
  readonly documented?: FastifySchema;
  readonly fieldPaths?: FieldPaths;
  readonly options?: RouteShorthandOptions;
}

interface Input<Route extends string, Query, Body, Found> {
  readonly params: ParametersOf<Route>;
  readonly found: Found;
  readonly query: Query extends ObjectSchema ? ValueOf<Query> : undefined;
  readonly body: BodyValue<Body>;
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

type NamesIn<Route extends string> = Route extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | NamesIn<More>
    : Rest
  : never;

/** Parameters of a route's path, as texts by name. */
export type ParametersOf<Route extends string> = Readonly<Record<NamesIn<Route>, string>>;

type BodyValue<Body> =
  Body extends RawBodyForm<infer Value>
    ? Value
    : Body extends DomainForm<infer Value>
      ? Value
      : Body extends BodyForm<infer Schema>
        ? ValueOf<Schema>
        : undefined;

/** Adds a route. The first argument is the method and the path, such as `GET /v1/models`. */
type AddEndpoint = <
  const Route extends `${Method} /${string}`,
  Query extends ObjectSchema | undefined = undefined,
  Body extends BodyForm<ObjectSchema> | undefined = undefined,
  Found = undefined,
>(
  route: NamesIn<Route> extends PathParameterName ? Route : never,
  endpoint: Endpoint<Route, Query, Body, Found>,
  handler: (input: Input<Route, Query, Body, Found>) => unknown,
) => void;

/** Returns a function that adds routes to `app`. */
export function endpoints(app: FastifyInstance, group: EndpointGroup): AddEndpoint {
  return (route, endpoint, handler) => {
    const [method = "", url = ""] = route.split(" ");
    const names = [...url.matchAll(/:(\w+)/g)].map(([, name]) => name as PathParameterName);
    const atPath: FieldPaths = names.length === 0 ? {} : { not_found: ["path", names.at(-1) ?? ""] };
    const { find, query, body } = endpoint;
    const fieldPaths = {
      ...atPath,
      ...Object.fromEntries(Object.keys(query?.properties ?? {}).map((name) => [name, ["query", name]])),
      ...fieldPathsOf(body),
      ...group.fieldPaths,
      ...endpoint.fieldPaths,
    };
    const options = { ...group.options, ...endpoint.options };
    const isApart = body !== undefined && isRawBodyForm(body);
    app.route({
      ...options,
      ...(isApart ? { config: { ...options.config, ...rawBody.config } } : {}),
      method,
      url,
      schema: documentation(group, endpoint, names),
      handler: async (request, reply) => {
        const { caller } = request;
        let namedBy: FieldPaths = atPath;
        try {
          const params = readParameters<typeof route>(request, names);
          const found = await find?.(params, caller);
          const sent = {
            query: query === undefined ? undefined : readQuery(query, request, reply),
            body: body === undefined ? undefined : await readRouteBody(body, request, reply),
          };
          namedBy = fieldPaths;
          const input = { params, found, ...sent, caller, request, reply };
          // Safe cast: parameters, query and body were read by the readers that define the types of the handler's
          // input.
          return await handler(input as Parameters<typeof handler>[0]);
        } catch (error) {
          throw locate(error, namedBy);
        }
      },
    });
  };
}

function documentation(
  { tag, scheme, answered: documented = answered }: EndpointGroup,
  endpoint: Endpoint<string, ObjectSchema | undefined, BodyForm<ObjectSchema> | undefined, unknown>,
  names: readonly PathParameterName[],
): object {
  const { summary, description, query, body } = endpoint;
  const parameters = names.map((name) => [
    name,
    { type: "string", description: pathParameters[name].description },
  ]);
  return {
    summary,
    ...(description === undefined ? {} : { description }),
    ...(names.length === 0 ? {} : { params: { type: "object", properties: Object.fromEntries(parameters) } }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body: body.schema }),
    response: documented(endpoint.answer, endpoint),
    tags: [tag],
    ...(scheme === undefined ? {} : { security: [{ [scheme]: [] }] }),
    ...endpoint.documented,
  };
}

function fieldPathsOf(body: BodyForm<ObjectSchema> | undefined): FieldPaths {
  if (body === undefined) return {};
  if (isDomainForm(body)) return body.fieldPaths;
  return Object.fromEntries(Object.keys(body.schema.properties).map((name) => [name, ["body", name]]));
}

async function readRouteBody(
  form: BodyForm<ObjectSchema>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (isRawBodyForm(form)) {
    const read = await form.read(request);
    nameIgnored(reply, read.ignored);
    return read;
  }
  const value = readBody(form, request, reply);
  return isDomainForm(form) ? form.to(value) : value;
}

function readParameters<Route extends string>(
  { params }: FastifyRequest,
  names: readonly PathParameterName[],
): ParametersOf<Route> {
  // Safe cast: the router provides each path parameter as a string.
  const texts = params as Readonly<Record<string, string>>;
  const read = names.map((name) => {
    const parameter: PathParameter = pathParameters[name];
    const text = texts[name] ?? "";
    return [name, parameter.read?.(text) ?? text] as const;
  });
  // Safe cast: `names` lists the parameters in the route's path.
  return Object.fromEntries(read) as ParametersOf<Route>;
}
