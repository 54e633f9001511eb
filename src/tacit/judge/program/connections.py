"""Connections to program judges: a chat endpoint with OpenAI's protocol, or a program of the user.

Both respond to one question at a time with text or JSON. A failure that a retry may fix raises `Retry`; a failure of
every question raises a TacitError; a response without a grade raises an AnswerProblem.
"""

from __future__ import annotations

import http.client
import json
import os
import selectors
import shlex
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from tacit.core import TacitError, UsageError
from tacit.data.jsonlines import unique_keys
from tacit.judge.program.questions import Answer, AnswerProblem, Prompt, Question, parse_answer, read_answer

DEFAULT_URL = "https://api.openai.com/v1"
KEYS = ("TACIT_JUDGE_KEY", "OPENAI_API_KEY")  # environment variables; the first one set is used
MAX_BYTES = 1_000_000  # of a response
WRONG_CALL = (401, 403, 404, 405)  # every question would fail
LONGEST_WAIT = 60.0  # longest pause that an endpoint may request


class Retry(TacitError):
    """A failure that a retry may fix: `kind` in one word, and the number of seconds the endpoint asks to wait."""

    def __init__(self, kind: str, problem: str, wait: float = 0.0) -> None:
        self.kind, self.wait = kind, wait
        super().__init__(problem)


class Connection(Protocol):
    """A connection that responds to questions; one for each thread."""

    def ask(self, prompt: Prompt, question: Question) -> Answer:
        """Return the response to one question."""

    def close(self) -> None:
        """Close the connection."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse every redirect."""


@dataclass
class ChatEndpoint:
    """An OpenAI-compatible endpoint; the key is kept in memory only and never appears in a message.

    Parameters
    ----------
    model : str
        Name of the model.
    base_url : str, default="https://api.openai.com/v1"
        Address up to, not including, `/chat/completions`.
    timeout : float, default=60
        Seconds for one request.
    key : str, default=""
        Secret key; without one, no Authorization header is sent.
    """

    model: str
    base_url: str = DEFAULT_URL
    timeout: float = 60.0
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise UsageError(f"--base-url is {self.base_url!r}, want http(s)://HOST[:PORT]/PATH without a password")
        self._opener = urllib.request.build_opener(_NoRedirect())
        self._options: dict[str, Any] = {"temperature": 0}

    def ask(self, prompt: Prompt, question: Question) -> Answer:
        """Send instructions and data, and read the first choice."""
        body = {
            "model": self.model,
            **self._options,
            "messages": [
                {"role": "system", "content": prompt.text},
                {"role": "user", "content": prompt.data(question)},
            ],
        }
        return parse_answer(_content(self._post(body)))

    def close(self) -> None:
        """Do nothing, because requests are independent."""

    def _post(self, body: dict[str, Any]) -> bytes:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        address = f"{self.base_url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                return _read(response, self.timeout)
        except urllib.error.HTTPError as error:
            with error:
                self._refuse(error)
        except TimeoutError:
            raise Retry("timeout", f"no response within {self.timeout:g} seconds") from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise Retry("timeout", f"no response within {self.timeout:g} seconds") from None
            raise Retry("connection", f"{self.base_url}: {self._hide(str(reason)) or type(error).__name__}") from None
        raise AssertionError("unreachable")

    def _refuse(self, error: urllib.error.HTTPError) -> None:
        said = self._hide(" ".join(error.read(2000).decode("utf-8", "replace").split())[:200])
        problem = f"{self.base_url}: status {error.code} {said}".rstrip()
        if error.code in WRONG_CALL or 300 <= error.code < 400:
            raise TacitError(problem)
        if error.code in (408, 409, 425, 429) or error.code >= 500:
            raise Retry("rate limit" if error.code == 429 else "server", problem, _seconds(error.headers))
        if error.code == 400 and "temperature" in said.lower() and self._options:
            self._options = {}  # some models have a fixed temperature and refuse the field
            raise Retry("server", problem)
        raise AnswerProblem("refused", problem)

    def _hide(self, text: str) -> str:
        return text.replace(self.key, "***") if self.key else text


def _read(response: Any, timeout: float) -> bytes:
    """Read the body within the time limit, even if a server sends byte after byte."""
    end, parts, size = time.monotonic() + timeout, [], 0
    while part := response.read1(65536):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise AnswerProblem("malformed", f"the response has more than {MAX_BYTES:,} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    return b"".join(parts)


def _content(body: bytes) -> str:
    try:
        message = json.loads(body)["choices"][0]["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise AnswerProblem("malformed", "the response has no choices[0].message.content") from None
    if refusal or not isinstance(content, str):
        raise AnswerProblem("refused", "the model refused to respond")
    return content


def _seconds(headers: Any) -> float:
    """Return the seconds of Retry-After; 0 if it is absent or a date."""
    text = (headers.get("Retry-After") or "").strip()
    return min(float(text), LONGEST_WAIT) if text.isascii() and text.isdecimal() else 0.0


class CommandJudge:
    """A program that reads JSON lines with query, document and guidelines and writes a JSON line for each.

    Parameters
    ----------
    command : str
        The program and its arguments.
    timeout : float, default=60
        Seconds for one response; a program that takes longer is ended and started again.
    """

    def __init__(self, command: str, timeout: float = 60.0) -> None:
        try:
            self.arguments, self.timeout = shlex.split(command), timeout
        except ValueError as error:
            problem = str(error)[0].lower() + str(error)[1:]
            raise UsageError(f"--with command: is {command!r}: {problem}") from None
        if not self.arguments:
            raise UsageError("--with command: names no program")
        self._process: subprocess.Popen[bytes] | None = None
        self._left = b""

    def ask(self, prompt: Prompt, question: Question) -> Answer:
        """Write one line and read one."""
        process = self._running()
        assert process.stdin is not None
        line = json.loads(prompt.data(question)) | {"guidelines": prompt.text}
        try:
            process.stdin.write(json.dumps(line).encode() + b"\n")
            process.stdin.flush()
            answer = self._line(process)
        except OSError as error:
            self.close()
            raise Retry("command", f"{self.arguments[0]}: {error.strerror or error}") from None
        try:
            return read_answer(json.loads(answer, object_pairs_hook=unique_keys))
        except (ValueError, RecursionError) as error:
            if isinstance(error, AnswerProblem):
                raise
            raise AnswerProblem("malformed", f"{self.arguments[0]}: wrote a line that is not JSON") from None

    def close(self) -> None:
        """End the program."""
        process, self._process, self._left = self._process, None, b""
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # unwritten input is useless to a program that has ended
                    stream.close()  # type: ignore[union-attr]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except OSError as error:
                raise TacitError(f"{self.arguments[0]}: cannot be started: {error.strerror}") from None
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        end = time.monotonic() + self.timeout
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._left:
                if not selector.select(max(end - time.monotonic(), 0)):
                    self.close()
                    raise Retry("timeout", f"{self.arguments[0]}: no response within {self.timeout:g} seconds")
                part = os.read(process.stdout.fileno(), 65536)
                if not part or len(self._left) > MAX_BYTES:
                    self.close()
                    raise Retry("command", f"{self.arguments[0]}: ended without a response")
                self._left += part
        line, self._left = self._left.split(b"\n", 1)
        return line


def connect_judge(spec: str, base_url: str | None, timeout: float) -> Connection:
    """Return the connection for `openai:MODEL` or `command:PROGRAM`."""
    kind, _, rest = spec.partition(":")
    if kind == "openai" and rest:
        key = next((os.environ[name] for name in KEYS if os.environ.get(name)), "")
        return ChatEndpoint(rest, base_url or DEFAULT_URL, timeout, key)
    if kind == "command" and rest:
        if base_url:
            raise UsageError("--base-url is for openai:MODEL; leave it out")
        return CommandJudge(rest, timeout)
    raise UsageError(f"--with is {spec!r}, want openai:MODEL or command:PROGRAM")


def judge_name(spec: str, prompt: Prompt) -> str:
    """Return the name of the judge: connection, model or program, and digest of the prompt.

    >>> judge_name("openai:gpt-4o", Prompt())[:14]
    'openai:gpt-4o@'
    """
    kind, _, rest = spec.partition(":")
    name = rest if kind == "openai" else "-".join(os.path.basename(word) for word in shlex.split(rest))
    return f"{kind}:{'-'.join(name.split())}@{prompt.digest}"
