// Files of the two built sites that the server has for browsers: the page at `/` and the guide at `/guide`.

/** Content encodings, smallest first; `identity` is uncompressed. */
export const siteEncodings = ["br", "gzip", "identity"] as const;

export type SiteEncoding = (typeof siteEncodings)[number];

export interface SiteFile {
  readonly contentType: string;
  /** The file in each encoding that the build made; `identity` always. */
  readonly bytes: Readonly<Partial<Record<SiteEncoding, Uint8Array>>> & { readonly identity: Uint8Array };
}

/** Files of a site by path, such as `guides/keys.html`; empty if the site was not built. */
export type SiteFiles = ReadonlyMap<string, SiteFile>;
