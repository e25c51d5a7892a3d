// Translates the domain's field names to the client's field paths, in faults and in texts. Only this module
// translates.
import { ServiceError } from "../../base/domain/service-error.ts";

/**
 * Path of each field in the request, by the domain's name, dotted within a group (`stopping.maxTokens`), or by code
 * for errors that name no field.
 */
export type FieldPaths = Readonly<Record<string, readonly string[]>>;

/** Returns the error with the client's paths in its faults, and the client's field names in its texts. */
export function locate(error: unknown, fieldPaths: FieldPaths): unknown {
  // A subclass, such as HTTP's refusals, already uses the client's names.
  if (!(error instanceof ServiceError) || error.constructor !== ServiceError) return error;
  const { code, retryAfterSeconds, obstacle } = error;
  const message = translateFieldNames(error.message, fieldPaths);
  const place = fieldPathOf(code, fieldPaths);
  const faults =
    error.faults.length === 0 && place !== undefined
      ? [{ location: place, message, type: code }]
      : error.faults.map((fault) => ({
          location: toClientPath(fault.location, fieldPaths),
          message: translateFieldNames(fault.message, fieldPaths),
          type: fault.type,
        }));
  return new ServiceError({
    code,
    message,
    faults,
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(obstacle === undefined ? {} : { obstacle }),
  });
}

/** Returns the error with the locations of its faults replaced by those that `moved` returns. */
export function relocate(error: unknown, moved: (location: readonly string[]) => readonly string[]): unknown {
  if (!(error instanceof ServiceError) || error.constructor !== ServiceError) return error;
  const { code, message, retryAfterSeconds, obstacle } = error;
  return new ServiceError({
    code,
    message,
    faults: error.faults.map((fault) => ({ ...fault, location: moved(fault.location) })),
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(obstacle === undefined ? {} : { obstacle }),
  });
}

/** Replaces the field at the start of a location, which has at most two parts, by its path. */
function toClientPath(location: readonly string[], fieldPaths: FieldPaths): readonly string[] {
  for (const count of [2, 1]) {
    const place = fieldPathOf(location.slice(0, count).join("."), fieldPaths);
    if (place !== undefined) return [...place, ...location.slice(count)];
  }
  return location;
}

/** Replaces fields in backquotes by the client's names. */
function translateFieldNames(text: string, fieldPaths: FieldPaths): string {
  return text.replaceAll(
    /`([\w.]+)`/g,
    (quoted, field: string) => fieldPathOf(field, fieldPaths)?.slice(1).join(".") ?? quoted,
  );
}

/** Texts may quote the client's input, so a name may be anything. */
function fieldPathOf(name: string, fieldPaths: FieldPaths): readonly string[] | undefined {
  return Object.hasOwn(fieldPaths, name) ? fieldPaths[name] : undefined;
}
