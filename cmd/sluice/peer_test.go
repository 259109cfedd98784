package main

// How commands reach a server: TCP, TLS with and without a certificate of their own, a
// socket in the file system; with a password; and what they say where they cannot.

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type peerRow struct {
	args   string // of top --once, reload and healthcheck alike
	status int    // of top; 0: it must show the server
	errs   string // a part of what it says
}

func checkPeers(t *testing.T, files *strings.Replacer, rows []peerRow) {
	t.Helper()
	for _, row := range rows {
		args := append([]string{"top", "--once"}, strings.Fields(files.Replace(row.args))...)
		out, errs, status := run(t, args...)
		if status != row.status || !strings.Contains(errs, files.Replace(row.errs)) || strings.HasPrefix(out, "Sluice ") != (status == 0) {
			t.Errorf("%s: exit %d, %s%s", row.args, status, errs, out)
		}
		if strings.Contains(out+errs, "correct-horse") {
			t.Errorf("%s: it tells the password: %s%s", row.args, errs, out)
		}
	}
}

func TestPeers(t *testing.T) {
	dir := t.TempDir()
	ca, other := newAuthority(t, dir, "ca"), newAuthority(t, t.TempDir(), "ca")
	ca.server("server")
	ca.sign("far", &x509.Certificate{DNSNames: []string{"limiter.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	write(t, ca.path("password"), "correct-horse\n")
	write(t, ca.path("empty"), "\n")
	config := inFile(t, "sluice.yaml", "server: {max_clients: 100}\n")
	socket := filepath.Join(dir, "s")
	p := start(t, "--config", config, "--dir", "", "--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0", "--unix-socket", socket,
		"--tls-cert", ca.path("server.crt"), "--tls-key", ca.path("server.key"), "--requirepass-file", ca.path("password"))
	list := p.addresses()
	_, port, _ := net.SplitHostPort(list[1])
	files := strings.NewReplacer("@plain", list[0], "@tls", list[1], "@port", port, "@socket", socket, "@other", other.path("ca.crt"), "@ca", ca.path("ca.crt"),
		"@password", ca.path("password"), "@empty", ca.path("empty"), "@key", ca.path("server.key"))
	checkPeers(t, files, []peerRow{
		{"--server @plain --password-file @password", 0, ""},
		{"--server redis://@plain --password-file @password", 0, ""},
		{"--server redis://default@@plain/ --password-file @password", 0, ""},
		{"--server @tls --tls --cacert @ca --password-file @password", 0, ""},
		{"--server rediss://localhost:@port --cacert @ca --password-file @password", 0, ""},
		{"--server @socket --password-file @password", 0, ""},
		{"--server unix://@socket --password-file @password", 0, ""},
		{"--server @plain", 1, "NOAUTH"},
		{"--server @plain --user nobody --password-file @password", 1, "WRONGPASS"},
		{"--server @tls --tls --cacert @other", 1, "--cacert names the file of those who vouch for it"},
		{"--server @tls --tls", 1, "--cacert names the file of those who vouch for it"},
		{"--server @tls --tls --cacert @ca --sni limiter.example", 1, "--sni says which name its certificate is for"},
		{"--server @plain --tls --timeout 2s", 1, "leave --tls away"},
		{"--server @tls --timeout 2s", 1, "--tls that it speaks TLS there"},

		{"--server 6380", 2, `--server must be HOST:PORT such as 127.0.0.1:6380, the path of a socket or a URL, got "6380"`},
		{"--server http://@plain", 2, `--server must be a redis://, rediss:// or unix:// URL, got "http://…"`},
		{"--server redis://@plain/3", 2, "--server must be a URL such as redis://user@host:6380, with nothing after the port"},
		{"--server redis://u:correct-horse@@plain", 2, "use SLUICE_PASSWORD or --password-file"},
		{"--server redis://u:correct-horse@@plain:x", 2, "--server must be a URL such as"},
		{"--server redis://web@@plain --user api", 2, "--user api and the user of --server, web, are two"},
		{"--server @plain --cacert @ca", 2, "are about TLS: give --tls too"},
		{"--server @socket --tls", 2, "leave --tls away"},
		{"--server @tls --tls --cacert @password", 2, "--cacert must be a file of certificates, PEM, and @password has none"},
		{"--server @tls --tls --cacert @ca --cert @ca", 2, "--cert and --key belong together"},
		{"--server @tls --tls --cacert @ca --cert @ca --key @key", 2, "--cert and --key: tls: private key does not match public key"},
		{"--server @plain --password-file @empty", 2, "@empty has none there"},
		{"--server @plain --password-file /nowhere", 2, "--password-file must be a file that can be read"},
	})

	// The others go the same way.
	tls := strings.Fields(files.Replace("--server rediss://localhost:@port --cacert @ca --password-file @password"))
	if out, errs, status := run(t, append([]string{"healthcheck"}, tls...)...); status != 0 || out != "ready\n" {
		t.Errorf("healthcheck: exit %d, %s%s", status, out, errs)
	}
	for _, row := range []peerRow{
		{"@plain --password-file @password", 0, "600 requests in "},
		{"@socket --password-file @password", 0, "600 requests in "},
		{"rediss://localhost:@port --cacert @ca --password-file @password", 0, "600 requests in "},
		{"rediss://localhost:@port --cacert @ca --password-file @password --rate 3000", 0, "600 requests in "},
		{"@plain", 1, "connection 1 of 3: NOAUTH"},
		{"@tls --tls", 1, "--cacert names the file of those who vouch for it"},
		{"@plain --cacert @ca", 2, "are about TLS: give --tls too"},
	} {
		args := strings.Fields("bench load --requests 600 --connections 3 --pipeline 10 --keys hot --server " + files.Replace(row.args) + " -- RL.ALLOW user fixed_window 500 52w")
		out, errs, status := run(t, args...)
		if status != row.status || !strings.Contains(out+errs, row.errs) {
			t.Errorf("bench load %s: exit %d, %s%s", row.args, status, out, errs)
		}
	}
	// The server that the environment tells of is asked with its password, no other.
	for _, row := range []struct {
		args   []string
		status int
	}{{[]string{"top", "--once"}, 0}, {[]string{"top", "--once", "--server", list[0]}, 1}} {
		command := exec.Command(program, row.args...)
		command.Env = append(os.Environ(), "SLUICE_LISTEN="+list[0], "SLUICE_REQUIREPASS_FILE="+ca.path("password"))
		if out, _ := command.CombinedOutput(); command.ProcessState.ExitCode() != row.status {
			t.Errorf("%v: exit %d, %s", row.args, command.ProcessState.ExitCode(), out)
		}
	}
	rewrite(t, config, "server: {max_clients: 0}\n")
	if _, errs, status := run(t, append([]string{"reload"}, tls...)...); status != 3 || !strings.Contains(errs, "sluice.yaml:1:10: server.max_clients: must be from 1 to 1048576, got 0") {
		t.Errorf("reload: exit %d, %s", status, errs)
	}
}

func TestPeersWithCertificates(t *testing.T) {
	ca := newAuthority(t, t.TempDir(), "ca")
	ca.sign("server", &x509.Certificate{DNSNames: []string{"limiter.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ca.sign("client", &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	p := start(t, "--dir", "", "--listen", "", "--tls-listen", "127.0.0.1:0", "--tls-cert", ca.path("server.crt"),
		"--tls-key", ca.path("server.key"), "--tls-client-ca", ca.path("ca.crt"))
	files := strings.NewReplacer("@tls", p.addresses()[0], "@ca", ca.path("ca.crt"), "@cert", ca.path("client.crt"), "@key", ca.path("client.key"))
	checkPeers(t, files, []peerRow{
		{"--server rediss://@tls --cacert @ca --sni limiter.example --cert @cert --key @key", 0, ""},
		{"--server rediss://@tls --cacert @ca --sni limiter.example", 1, "it may want a certificate that it knows: --cert and --key"},
		{"--server rediss://@tls --cacert @ca --cert @cert --key @key", 1, "--sni says which name its certificate is for"},
	})
}
