// Offers devices that are none, so that pods can ask for GPUs on hosts without any. For tests alone.
//
// COUNT devices of RESOURCE are named stand-in-0, stand-in-1 and so on; those whose names stand in the file
// stand-in-broken beside the kubelet's socket are unhealthy. A kubelet that starts anew is told again.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socket = "groundcrew-stand-in.sock"
	look   = time.Second
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	count int
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// Sent anew when a name was written into the file or taken out of it.
func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	sent := "nothing yet"
	for {
		broken := readBroken()
		if now := strings.Join(broken, " "); now != sent {
			if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices(broken)}); err != nil {
				return err
			}
			sent = now
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(look):
		}
	}
}

func (p *plugin) devices(broken []string) []*api.Device {
	found := make([]*api.Device, p.count)
	for i := range found {
		name := fmt.Sprintf("stand-in-%d", i)
		health := api.Healthy
		if slices.Contains(broken, name) {
			health = api.Unhealthy
		}
		found[i] = &api.Device{ID: name, Health: health}
	}
	return found
}

func (p *plugin) Allocate(_ context.Context, asked *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, container := range asked.ContainerRequests {
		names := slices.Sorted(slices.Values(container.DevicesIds))
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(names, ","), "GROUNDCREW_SIMULATED": "1"},
		})
	}
	return answer, nil
}

func readBroken() []string {
	content, err := os.ReadFile(filepath.Join(api.DevicePluginPath, "stand-in-broken"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(content))
}

func register(resource string) error {
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: socket, ResourceName: resource}
	_, err = api.NewRegistrationClient(connection).Register(patience, request)
	return err
}

// Until the kubelet makes its socket anew, which deletes ours.
func serve(resource string, count int) error {
	own := filepath.Join(api.DevicePluginPath, socket)
	if err := os.Remove(own); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", own)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, &plugin{count: count})
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	if err := register(resource); err != nil {
		return err
	}
	log.Printf("%d stand-ins for %s are offered: no hardware is behind them", count, resource)
	for {
		time.Sleep(look)
		if _, err := os.Stat(own); err != nil {
			return fmt.Errorf("the kubelet has started anew: %w", err)
		}
	}
}

func main() {
	count, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		log.Fatal("COUNT is not a number: ", err)
	}
	for {
		log.Print(serve(os.Getenv("RESOURCE"), count))
		time.Sleep(look)
	}
}
