"""The ancestor's import path; the names are in `couler`."""

from couler.dsl.objects import DnsConfig as DnsConfig
from couler.dsl.objects import DnsConfigOption as DnsConfigOption
