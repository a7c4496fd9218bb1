// Requests to the server that served this page. Failures are `Refused`, with the server's own words.

import { signal } from "@preact/signals";

/** Whether the server says that nobody is signed in (any more), or somebody else. */
export const isSignedOut = signal(false);

/** Whom this page was loaded for: all tabs have one cookie, and somebody else may sign in in another. */
export const person = signal<string | null>(null);

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly body: unknown = null,
  ) {
    super(message);
  }
}

/** The server cannot be reached: it ended, or the connection is gone. */
export class Unreachable extends Error {}

/** `forAnyone`: whoever is signed in now. */
type Options = { signal?: AbortSignal | undefined; cache?: RequestCache; forAnyone?: boolean };

export function get<T>(path: string, options: Options = {}): Promise<T> {
  return ask<T>("GET", path, undefined, options);
}

export function post<T>(path: string, body: unknown, options: Options = {}): Promise<T> {
  return ask<T>("POST", path, body, options);
}

export function remove<T>(path: string, options: Options = {}): Promise<T> {
  return ask<T>("DELETE", path, undefined, options);
}

/** A path of a note or file as part of a URL: slashes stay. */
export function inUrl(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

async function ask<T>(method: string, path: string, body: unknown, options: Options): Promise<T> {
  const request: RequestInit = { method, credentials: "same-origin", cache: options.cache ?? "no-store" };
  if (options.signal) request.signal = options.signal;
  const headers: Record<string, string> = {};
  if (person.value !== null && !options.forAnyone) headers["x-flashgrep-person"] = encodeURIComponent(person.value);
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    headers["content-type"] = "application/json";
  }
  request.headers = headers;
  let response: Response;
  try {
    response = await fetch(path, request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable("The server does not answer. It may have been stopped.");
  }
  const text = await response.text();
  const answer: unknown = text ? parsed(text) : null;
  if (response.ok) return answer as T;
  if (response.status === 401) isSignedOut.value = true;
  const error = (answer as { error?: { code?: string; message?: string } } | null)?.error;
  throw new Refused(
    response.status,
    error?.code ?? "unknown",
    error?.message ?? `The server answered with status ${response.status}.`,
    answer,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What to show a person for an error of any kind; a name that it begins with stays as it is. */
export function told(error: unknown, name = ""): string {
  const text = error instanceof Error ? error.message : String(error);
  const first = name && text.startsWith(name) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
