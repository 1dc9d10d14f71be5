"""The network: names, certificates, connections."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, FEW

_ARGO = "https://github.com/argoproj/argo-workflows/blob/v4.0.7/util/errors/errors.go"

CERTIFICATES = (
    Pattern(
        name="CertificateErr",
        system="network",
        signs=(
            sign(r"\bx509: (?:certificate |cannot validate certificate )"),
            sign(r"\[SSL: CERTIFICATE_VERIFY_FAILED\] certificate verify failed", in_log=True),
        ),
        example=Failure(
            'Get "https://10.96.0.1:443/api": tls: failed to verify certificate: x509: certificate '
            "signed by unknown authority"
        ),
        means="the certificate of the server is not trusted, has expired or is for another name",
        retry="never",
        backoff=None,
        advice="Add the authority that signed it to those that are trusted, or use the name that "
        "it was made for. Do not turn the check off.",
        source="https://pkg.go.dev/crypto/x509#UnknownAuthorityError",
    ),
)

PATTERNS = (
    Pattern(
        name="DnsErr",
        system="network",
        signs=(
            sign(r"\blookup \S{1,253}(?: on \S{1,60})?: (?:no such host|server misbehaving)\b"),
            sign(r"\bread udp \S{1,100}->\S{1,60}:53: i/o timeout\b"),
            sign(
                r"\[Errno -[235]\] (?:Temporary failure in name resolution"
                r"|Name or service not known|No address associated with hostname)",
                in_log=True,
            ),
            sign(r"\bgetaddrinfo (?:EAI_AGAIN|ENOTFOUND) \S", in_log=True),
        ),
        example=Failure(
            "dial tcp: lookup minio.argo.svc on 10.96.0.10:53: no such host",
        ),
        means="the name of a server could not be looked up",
        retry="after a wait",
        backoff=FEW,
        advice="Check the name. If it is right, the DNS service of the cluster is down or has too "
        "much to do.",
        source="https://kubernetes.io/docs/tasks/administer-cluster/dns-debugging-resolution/",
    ),
    Pattern(
        name="ConnectionErr",
        system="network",
        signs=(
            sign(
                r"\b(?:dial|read|write) tcp \S{1,100}: (?:.{0,60}: )?(?:connection refused"
                r"|connection reset by peer|connection timed out|no route to host|i/o timeout)"
            ),
            sign(r"\bnet/http: (?:TLS handshake timeout|request canceled while waiting)\b"),
            sign(r"\bhttp2: (?:client connection lost|server sent GOAWAY and closed the conn)"),
            sign(r"\Aconnection (?:refused|reset by peer|timed out)\Z"),
        ),
        example=Failure(
            'Get "https://10.96.0.1:443/api": dial tcp 10.96.0.1:443: connect: connection refused'
        ),
        means="a server of the cluster could not be reached, or dropped the connection",
        retry="after a wait",
        backoff=BUSY,
        advice="If it lasts, check that the server runs, and that no network policy is between.",
        source=_ARGO,
    ),
    Pattern(
        name="StepConnectionErr",
        system="network",
        signs=(
            sign(
                r"^[\w.]{0,120}"
                r"Connection(?:Refused|Reset|Aborted)?Error: .{0,200}"
                r"(?:Connection refused|Connection reset by peer|Max retries exceeded with url)",
                in_log=True,
            ),
            sign(r"^curl: \((?:7|28|35|52|56)\) ", in_log=True),
        ),
        example=Failure(
            "main: Error (exit code 1)",
            exit_code=1,
            log="Traceback (most recent call last):\n"
            '  File "/app/fetch.py", line 3, in <module>\n'
            "ConnectionRefusedError: [Errno 111] Connection refused",
        ),
        means="the step could not reach a server that it needs",
        retry="after a wait",
        backoff=FEW,
        advice="Check the address and that the server runs; let the step itself try again.",
        source="https://docs.python.org/3/library/exceptions.html#ConnectionError",
    ),
)
