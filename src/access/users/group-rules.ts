// What a signed-in user may do, by the groups that the operator names.
import type { Caller } from "../../base/domain/access.ts";
import { cut, invalid, quoted, ServiceError } from "../../base/domain/service-error.ts";
import { isPlainPart } from "../../inference/models/registry/model-name.ts";

/** Whom a proxy or a token names. */
export interface SignedInUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** One line of `users.groups`. */
interface GroupRule {
  readonly group: string;
  /** Null for administrators. */
  readonly entity: string | null;
}

/** As long as the owner of a key may be. */
const nameLengthMax = 128;

/** Reads `group=entity` and `group=*`. @throws ServiceError `invalid` for anything else */
export function readGroupRules(lines: readonly string[]): readonly GroupRule[] {
  return lines.map((line) => {
    // Names of groups may hold "=", as those of LDAP do.
    const place = line.lastIndexOf("=");
    const [group, entity] = [line.slice(0, place).trim(), line.slice(place + 1).trim()];
    if (place < 0 || group === "" || !(entity === "*" || isPlainPart(entity)))
      throw invalid(
        `users.groups has ${quoted(line)}; each must be group=entity, or group=* for administrators.`,
      );
    return { group, entity: entity === "*" ? null : entity };
  });
}

/**
 * The caller that a user is. The id of the key is `user:<name>`, which no key has, so that limits, uses and the audit log
 * tell people apart.
 *
 * @param defaultEntity of users where there are no rules
 * @throws ServiceError `forbidden` for a user whom no rule fits
 */
export function callerOf(user: SignedInUser, rules: readonly GroupRule[], defaultEntity: string): Caller {
  const rule =
    rules.length === 0 ? { entity: defaultEntity } : rules.find(({ group }) => user.groups.includes(group));
  if (rule === undefined)
    throw new ServiceError({
      code: "forbidden",
      message: `The user ${quoted(cut(user.name, nameLengthMax))} is in no group that users.groups of this server names.`,
    });
  return {
    keyId: `user:${user.name}`,
    entity: rule.entity ?? defaultEntity,
    role: rule.entity === null ? "admin" : "member",
    owner: user.name,
    scopes: null,
    project: null,
  };
}

/** Whether a name may stand for a user: as the owner of a key may be called. */
export function isUserName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name.trim() !== "" &&
    name.length <= nameLengthMax &&
    // Of names in headers: neither control characters nor what is no text.
    !/\p{C}/u.test(name)
  );
}
